import { createHistory, type LiveEvent } from './live/history.ts';
import {
  type Failure,
  type LivePayload,
  pauseBefore,
  type Refusal,
  readStream,
  type Subscription,
} from './live/stream.ts';

/**
 * One event stream for all tabs of a browser. Over HTTP/1.1 a browser opens at most six connections to a host, and each
 * stream keeps one. One tab, the leader, holds a Web Lock, reads the stream and passes its events on. When it goes,
 * another tab continues after its own last event. Each tab gets every event once, in order. Needs no library: copy this
 * file and the folder `live`.
 */
export interface LiveOptions<Data> extends Subscription {
  /** Who is signed in, for example the id of the user. Tabs with different identities do not share a stream. */
  readonly identity: string;
  readonly onEvent: (payload: LivePayload<Data>) => void;
  readonly onState?: (state: LiveState) => void;
}

/** `resumed` (nothing was lost) and `gap` (events may be lost: query again) are followed by `live`. */
export type LiveState =
  | { readonly status: 'connecting' | 'live' | 'resumed' | 'gap' }
  | ({ readonly status: 'reconnecting'; readonly attempt: number; readonly waitMs: number } & Failure)
  /** The service refuses or has ended the subscription. It is not opened again. */
  | ({ readonly status: 'closed' } & Refusal);

export interface Live {
  /** Ends the pause before the next attempt, for example after signing in. A `Retry-After` is still obeyed. */
  retry(): void;
  /** Nothing is called after this. */
  close(): void;
}

/** What tabs send each other. */
type Letter =
  | { readonly kind: 'event'; readonly event: LiveEvent }
  | ({ readonly kind: 'state' } & Place)
  /** Asks the leader for its place, and for the events after `since`. */
  | { readonly kind: 'hello'; readonly since: string | undefined }
  | ({ readonly kind: 'welcome'; readonly to: string; readonly events: readonly LiveEvent[] } & Place)
  | { readonly kind: 'retry' };

interface Place {
  readonly state: LiveState;
  /** The id of the last event, or of the place where the stream began. */
  readonly position: string | undefined;
}

/** Opens the stream, or joins the tab that has it open. */
export function openLive<Data>(options: LiveOptions<Data>): Live {
  const { url, query, variables, operationName, identity, onEvent, onState } = options;
  const address = new URL(url, location.href).href;
  const name = JSON.stringify(['live 1', identity, address, query, variables, operationName]);
  const me = Math.random().toString(36).slice(2);
  const history = createHistory();
  const lifetime = new AbortController();
  let state: LiveState | undefined;
  /** Undefined while the page is frozen, and after the end. */
  let membership: AbortController | undefined;
  let channel: BroadcastChannel | undefined;
  let leader: string | undefined;
  let hasAsked = false;
  let endPause: (() => void) | undefined;
  /** Whether `retry()` was called during an attempt, which may have begun with old credentials. */
  let isHurried = false;
  /** The service says how long to wait before reconnecting. */
  let baseMs = 1_000;

  const post = (letter: Letter) => channel?.postMessage({ ...letter, from: me });

  /** An error of the page's own code is reported like any other, and does not end the stream. */
  function call(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      reportError(error);
    }
  }

  function show(next: LiveState): void {
    if (lifetime.signal.aborted || JSON.stringify(next) === JSON.stringify(state)) return;
    state = next;
    call(() => onState?.(next));
  }

  function announce(next: LiveState): void {
    post({ kind: 'state', state: next, position: history.position() });
    show(next);
  }

  function ask(): void {
    if (!hasAsked) post({ kind: 'hello', since: history.position() });
    hasAsked = true;
  }

  function deliver(event: LiveEvent): void {
    if (lifetime.signal.aborted) return;
    const added = history.add(event);
    if (added === 'added') call(() => onEvent(JSON.parse(event.data)));
    if (added === 'out of reach') ask();
  }

  const pause = (ms: number, signal: AbortSignal, canEndEarly: boolean) =>
    new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        endPause = undefined;
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal.addEventListener('abort', end);
      if (canEndEarly) endPause = end;
    });

  /** Reads one stream and passes its events on. `onOpen` is called when it is known to continue after `from`. */
  function readOnce(from: string | undefined, signal: AbortSignal, onOpen: () => void) {
    let isOpen = false;
    return readStream(options, from, signal, ({ id, event, retry, data }) => {
      if (retry !== undefined) baseMs = Number(retry) || baseMs;
      if (signal.aborted || id === undefined) return;
      const after = history.position();
      if (after === undefined) history.startAt(id);
      // Where events were lost, the stream opens with another id, and an error follows.
      if (!isOpen && (event === 'next' || from === undefined || id === from)) {
        isOpen = true;
        onOpen();
      }
      if (event !== 'next' || data === undefined || after === undefined) return;
      post({ kind: 'event', event: { after, id, data } });
      deliver({ after, id, data });
    });
  }

  /** Keeps the stream open for all tabs, until the signal. */
  async function lead(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    leader = me;
    let attempt = 0;
    if (history.position() === undefined) announce({ status: 'connecting' });
    else announce({ status: 'reconnecting', attempt, waitMs: 0, reason: 'takeover' });
    while (!signal.aborted) {
      const from = history.position();
      let wasOpen = false;
      isHurried = false;
      const ending = await readOnce(from, signal, () => {
        wasOpen = true;
        attempt = 0;
        if (state?.status === 'reconnecting' && from !== undefined) announce({ status: 'resumed' });
        announce({ status: 'live' });
      });
      if (signal.aborted) return;
      if (ending.kind === 'refused') {
        announce({ status: 'closed', ...ending.refusal });
        close();
        return;
      }
      attempt += 1;
      const waitMs = pauseBefore(ending, attempt, baseMs);
      if (ending.kind === 'gap') {
        history.startAt(ending.position);
        announce({ status: 'gap' });
      } else announce({ status: 'reconnecting', attempt, waitMs, ...ending.failure });
      const canEndEarly = ending.kind === 'gap' || ending.retryAfterMs === undefined;
      if (wasOpen || !isHurried || !canEndEarly) await pause(waitMs, signal, canEndEarly);
    }
  }

  /** Takes what the leader says of its place. Ids cannot be compared: this tab knows the place or it does not. */
  function follow({ state: next, position }: Place, isAnswer: boolean): void {
    const mine = history.position();
    if (position !== undefined && !history.knows(position)) {
      if (mine !== undefined && !isAnswer && next.status !== 'gap') ask();
      else {
        history.startAt(position);
        if (mine !== undefined) show({ status: 'gap' });
      }
    }
    show(next);
    if (next.status === 'closed') close();
  }

  function welcome(to: string, since: string | undefined): void {
    if (state === undefined) return;
    const events = since === undefined ? [] : (history.since(since) ?? []);
    post({ kind: 'welcome', to, events, state, position: history.position() });
  }

  function receive(letter: Letter & { readonly from: string }): void {
    if (letter.kind === 'retry') hurry();
    else if (leader === me) {
      // Events that the leader before has sent are ignored: the stream brings them too.
      if (letter.kind === 'hello') welcome(letter.from, letter.since);
    } else if (letter.kind !== 'hello' && (letter.kind !== 'welcome' || letter.to === me)) {
      if (letter.kind === 'welcome' || letter.from !== leader) hasAsked = false;
      leader = letter.from;
      if (letter.kind === 'state') follow(letter, false);
      else if (letter.kind === 'welcome') {
        for (const event of letter.events) deliver(event);
        follow(letter, true);
      } // Before its first place, this tab has begun nowhere, and the leader's answer is on its way.
      else if (history.position() !== undefined) deliver(letter.event);
    }
  }

  function join(): void {
    if (membership !== undefined || lifetime.signal.aborted) return;
    membership = new AbortController();
    const { signal } = membership;
    // Insecure pages have no Web Locks: each tab has a stream of its own.
    if (!('locks' in navigator) || !('BroadcastChannel' in globalThis)) {
      void lead(signal);
      return;
    }
    channel = new BroadcastChannel(name);
    channel.onmessage = ({ data }) => receive(data);
    ask();
    navigator.locks
      .request(name, { signal }, () => lead(signal))
      // Refused in a sandboxed frame, or ended by the signal.
      .catch(() => lead(signal));
  }

  /** A frozen page must not keep the lock. Browsers do not keep a page with a connection for going back to it. */
  function leave(): void {
    membership?.abort();
    channel?.close();
    membership = channel = leader = undefined;
    hasAsked = false;
  }

  function close(): void {
    lifetime.abort();
    leave();
  }

  function hurry(): void {
    isHurried = true;
    endPause?.();
  }

  function retry(): void {
    if (leader === me) hurry();
    else post({ kind: 'retry' });
  }

  const { signal } = lifetime;
  window.addEventListener('pagehide', leave, { signal });
  window.addEventListener('pageshow', join, { signal });
  document.addEventListener('freeze', leave, { signal });
  document.addEventListener('resume', join, { signal });
  window.addEventListener('online', () => endPause?.(), { signal });
  document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && retry(), {
    signal,
  });
  show({ status: 'connecting' });
  join();
  return { retry, close };
}
