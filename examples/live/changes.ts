import { createAnswers } from './answers.ts';
import { type ConnectionError, createPersistence } from './persistence.ts';
import { type Operation, readStream, type Service } from './service.ts';

export interface ChangesOptions extends Operation {
  /** Who is signed in, for example the id of the user. Tabs with different identities do not share a stream. */
  readonly identity: string;
  readonly onState?: (state: LiveState) => void;
}

/** `resumed` (nothing was lost) and `missedEvents` (lists are read again) are followed by `live`. */
export type LiveState =
  | { readonly status: 'connecting' | 'live' | 'resumed' | 'missedEvents' }
  | ConnectionError;

/** `onLost`: some changes may not come, so what was asked before is out of date. */
export interface Follower<Change> {
  onChange(change: Change): void;
  onLost(): void;
}

/** What tabs send each other. */
type Letter =
  | { readonly kind: 'news'; readonly news: News }
  /** Asks the leader for its place, and to begin at this position if it has not begun. */
  | { readonly kind: 'hello'; readonly position: string | undefined }
  | { readonly kind: 'retry' };

/** Of the leader: its state, the id of the last event or of where it began, the one before, and the event. */
interface News {
  readonly state: LiveState;
  readonly after: string | undefined;
  readonly position: string | undefined;
  readonly data?: string | undefined;
}

/**
 * Opens `subscription { changes { … } }`, or joins the tab that has it open. One tab, the leader, holds a Web Lock, reads
 * the stream and passes on what comes. When it goes, another tab continues after the last event that it knows. The others
 * follow the chain of ids: where it breaks, lists are read again.
 */
export function openChanges<Change>(options: ChangesOptions) {
  const { url, query, variables, identity, onState } = options;
  const name = JSON.stringify(['live 2', identity, new URL(url, location.href).href, query, variables]);
  const followers = new Set<Follower<Change>>();
  const lifetime = new AbortController();
  const persistence = createPersistence();
  /** Of the lists: their pauses end, too, once the stream shows that the service can be reached. */
  const reads = createPersistence();
  let state: LiveState = { status: 'connecting' };
  let position: string | undefined;
  /** Undefined while the page is frozen, and after the end. */
  let membership: AbortController | undefined;
  let channel: BroadcastChannel | undefined;
  let isLeader = false;
  let greet = () => {};
  const greeted = new Promise<void>((resolve) => {
    greet = resolve;
    setTimeout(resolve, 1_000);
  });

  const post = (letter: Letter) => channel?.postMessage(letter);

  /** An error of the page's own code is reported like any other, and ends nothing. */
  function call(callback: () => void): void {
    try {
      if (!lifetime.signal.aborted) callback();
    } catch (error) {
      reportError(error);
    }
  }

  function lose(except?: Follower<Change>): void {
    for (const follower of followers) if (follower !== except) call(() => follower.onLost());
  }

  function apply(change: Change): void {
    for (const follower of followers) call(() => follower.onChange(change));
  }

  function take({ state: next, after, position: at, data }: News): void {
    // Ids cannot be compared: this tab knows the place before, or it has missed something.
    if (after !== position) lose();
    position = at;
    const change: Change | null | undefined = data === undefined ? undefined : JSON.parse(data).data?.changes;
    if (change != null) apply(change);
    else if (data !== undefined) lose();
    if (JSON.stringify(next) === JSON.stringify(state)) return;
    state = next;
    if (next.status === 'live') reads.hasten();
    call(() => onState?.(next));
    if (next.status === 'closed') close();
  }

  function tell(news: News): void {
    post({ kind: 'news', news });
    take(news);
  }

  const announce = (next: LiveState) => tell({ state: next, after: position, position });

  /** Reads one stream and passes it on. `onOpen` is called once it is known to continue after `from`. */
  function readOnce(from: string, signal: AbortSignal, onOpen: () => void) {
    let isOpen = false;
    return readStream(options, from, signal, ({ id, event, retry, data }) => {
      if (retry !== undefined) for (const one of [persistence, reads]) one.setBase(Number(retry));
      // Where events were lost, the stream opens with another id, and an error follows.
      if (signal.aborted || id === undefined || (!isOpen && event !== 'next' && id !== from)) return;
      if (!isOpen) onOpen();
      isOpen = true;
      if (data !== undefined || id !== position) tell({ state, after: position, position: id, data });
    });
  }

  /** Keeps the stream open for all tabs, until the signal. */
  async function lead(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    isLeader = true;
    greet();
    if (position === undefined) announce({ status: 'connecting' });
    else announce({ status: 'reconnecting', attempt: 0, waitMs: 0, reason: 'leaderChange' });
    // The first answer of a query says where to begin.
    while (position === undefined && !signal.aborted) await persistence.rest(signal);
    while (!signal.aborted) {
      const read = (reset: () => void) =>
        readOnce(position ?? '', signal, () => {
          reset();
          if (state.status === 'reconnecting') announce({ status: 'resumed' });
          announce({ status: 'live' });
        });
      const ending = await persistence.persist(read, signal, announce);
      if (ending?.status === 'closed') announce(ending);
      else if (ending !== undefined)
        tell({ state: { status: 'missedEvents' }, after: '', position: ending.position });
    }
  }

  function begin(eventId: string, by?: Follower<Change>): void {
    if (position !== undefined) return;
    position = eventId;
    lose(by);
    if (isLeader) persistence.hasten();
    else post({ kind: 'hello', position });
  }

  function receive(letter: Letter): void {
    if (letter.kind === 'retry') hasten();
    else if (letter.kind === 'hello' && isLeader) {
      if (letter.position !== undefined) begin(letter.position);
      post({ kind: 'news', news: { state, after: position, position } });
    } else if (letter.kind === 'news' && !isLeader) {
      greet();
      take(letter.news);
    }
  }

  function join(): void {
    if (membership !== undefined || lifetime.signal.aborted) return;
    membership = new AbortController();
    const { signal } = membership;
    // Insecure pages have no Web Locks: each tab has a stream of its own.
    if (!('locks' in navigator) || !('BroadcastChannel' in globalThis)) return void lead(signal);
    channel = new BroadcastChannel(name);
    channel.onmessage = ({ data }) => receive(data);
    post({ kind: 'hello', position });
    // Refused in a sandboxed frame, or ended by the signal.
    navigator.locks.request(name, { signal }, () => lead(signal)).catch(() => lead(signal));
  }

  /** A frozen page must not keep the lock. Browsers do not keep a page with a connection for going back to it. */
  function leave(): void {
    membership?.abort();
    channel?.close();
    membership = channel = undefined;
    isLeader = false;
  }

  function close(): void {
    lifetime.abort();
    leave();
  }

  function hasten(): void {
    persistence.hasten();
    reads.hasten();
  }

  function retry(): void {
    hasten();
    post({ kind: 'retry' });
  }

  const { signal } = lifetime;
  window.addEventListener('pagehide', leave, { signal });
  window.addEventListener('pageshow', join, { signal });
  document.addEventListener('freeze', leave, { signal });
  document.addEventListener('resume', join, { signal });
  window.addEventListener('online', hasten, { signal });
  const onVisible = () => document.visibilityState === 'visible' && retry();
  document.addEventListener('visibilitychange', onVisible, { signal });
  join();
  return {
    service: options as Service,
    persist: reads.persist,
    answers: createAnswers(),
    /** Whether the stream has its place: what is asked from now on misses nothing of it. */
    hasBegun: () => position !== undefined,
    /** Resolves once what is asked from then on misses nothing, and after a second at the latest. */
    ready: () => greeted,
    /** Begins the stream after an event, if it has not begun. What was asked before is out of date, but for `by`. */
    begin,
    /**
     * To be called before a mutation is sent. What it returns shows the change at once, from the answer. The stream
     * brings it too, and to the other tabs: if it has told of anything since, the answer may be older, and nothing is
     * done.
     */
    optimisticChange() {
      const before = position;
      return (change: Change): void => {
        if (position === before) apply(change);
      };
    },
    follow(follower: Follower<Change>, ended: AbortSignal): void {
      followers.add(follower);
      ended.addEventListener('abort', () => followers.delete(follower));
    },
    /** Ends the pauses before the next attempts, for example after signing in. A `Retry-After` is still obeyed. */
    retry,
    /** Nothing is called after this. */
    close,
  };
}

export type Changes<Change> = ReturnType<typeof openChanges<Change>>;
