import type { Client } from './client.ts';
import { type Document, formatBody, serializeDocument } from './documents.ts';
import { ContentGraphError } from './errors.ts';
import { findInternals } from './internals.ts';
import { linkSignals, reportCallbackError } from './platform.ts';
import { createStepLog } from './step-log.ts';
import { createStore, type Store } from './store.ts';
import type { StreamState } from './stream-state.ts';
import {
  formatState,
  leadTabs,
  openTabChannel,
  parseState,
  type StreamStep,
  type TabChannel,
  type TabLetter,
} from './tab-channel.ts';

/** What follows the changes. */
export interface Follower<Change> {
  onChange(change: Change): void;
  /** Some changes do not come: what was read before is out of date. */
  onMissedEvents(): void;
}

/** What lists follow. */
export interface ChangeSource<Change> {
  /** Calls the follower for each change until the signal is aborted. */
  follow(follower: Follower<Change>, signal: AbortSignal): void;
}

/** One stream of changes for all lists of all tabs. */
export interface Changes<Change> extends ChangeSource<Change> {
  /** The state of the stream, which another tab may have open. */
  readonly state: Store<StreamState>;
  /**
   * Call this before a mutation is sent. The returned function shows the change of the response before the stream brings
   * it. If the stream has brought a change since the call, the response may be older, and the function does nothing.
   */
  optimisticChange(): (change: Change) => void;
  /** Closes the stream of this tab. Another tab continues. */
  close(): void;
}

/** Options of `openChanges`. */
export interface ChangesOptions {
  /** `first-result` waits for the first list, so that nothing between the two is missed. `now` opens immediately. */
  readonly from?: 'now' | 'first-result' | undefined;
}

/** What a list needs of the changes. */
export interface ChangesInternals<Change> {
  readonly client: Client;
  /** True if a query that is sent now misses no change. */
  hasPosition(): boolean;
  /** Resolves when `hasPosition` cannot become true without a query. */
  readonly greeted: Promise<void>;
  /** Follows from an event id. A follower that cannot is told that events are missed. */
  startAfter(eventId: string, follower: Follower<Change>): void;
}

/** How long a tab waits for a leader. A leader that is busy for longer costs one more query. */
const GREETING_MS = 1_000;

const known = new WeakMap<object, ChangesInternals<never>>();

/** @throws {TypeError} for an object that `openChanges` did not return */
export function findChangesInternals<Change>(changes: ChangeSource<Change>): ChangesInternals<Change> {
  const internals = known.get(changes);
  if (internals === undefined) throw new TypeError('The changes must come from openChanges().');
  return internals;
}

/**
 * Opens one stream for all lists of all tabs, or joins the tab that has the stream open. Tabs share a stream if the client
 * has an identity, and identity, URL and document are equal.
 */
export function openChanges<Data, Change>(
  client: Client,
  document: Document<Data, Record<string, never>>,
  select: (data: Data) => Change | null,
  { from = 'first-result' }: ChangesOptions = {},
): Changes<Change> {
  const { transport, clock, activity, states, lifetime: clientLifetime } = findInternals(client);
  const link = linkSignals(clientLifetime);
  const lifetime = link.signal;
  const name = JSON.stringify([
    'content-graph',
    client.identity,
    transport.url,
    formatBody(serializeDocument(document), {}),
  ]);
  const isShared = client.identity !== undefined;
  const followers = new Set<Follower<Change>>();
  const state = createStore<StreamState>({ status: 'idle' });
  const log = createStepLog();
  const beginning = new AbortController();
  let channel: TabChannel | undefined;
  let isLeader = false;
  /** True while this tab waits for the steps that it lacks. */
  let isSyncing = false;
  let greet = () => {};
  const greeted = new Promise<void>((resolve) => {
    greet = resolve;
  });

  function setState(next: StreamState): void {
    states.set(state, next);
    state.set(next);
    // The tab that has the stream open reaches the service.
    if (next.status === 'live') activity.wake('reachable');
    if (next.status === 'closed') link.abort();
  }

  function call(callback: () => void): void {
    try {
      if (!lifetime.aborted) callback();
    } catch (error) {
      reportCallbackError(error);
    }
  }

  function reportMissed(except?: Follower<Change>): void {
    for (const follower of [...followers]) if (follower !== except) call(() => follower.onMissedEvents());
  }

  function applyChange(change: Change): void {
    for (const follower of [...followers]) call(() => follower.onChange(change));
  }

  function applyStep(step: StreamStep, receivers: ReadonlySet<Follower<Change>> = followers): void {
    if (step.isGap === true) for (const one of [...receivers]) call(() => one.onMissedEvents());
    if (step.data === undefined) return;
    const data: Data = JSON.parse(step.data);
    const change = select(data);
    for (const one of [...receivers])
      call(() => (change === null ? one.onMissedEvents() : one.onChange(change)));
  }

  /** Takes a step of the leader, or asks for those before it. */
  function takeStep(step: StreamStep): void {
    if (isSyncing) return;
    if (step.after === log.position || step.isGap === true) {
      log.add(step);
      beginning.abort();
      applyStep(step);
    } else sayHello();
  }

  function sayHello(): void {
    if (channel === undefined) return;
    isSyncing = true;
    channel.post({ kind: 'hello', tab: channel.tab, position: log.position });
  }

  function receive(letter: TabLetter): void {
    if (lifetime.aborted) return;
    if (letter.kind === 'retry') activity.wake('retry');
    else if (letter.kind === 'hello' && isLeader) welcome(letter.tab, letter.position);
    else if (letter.kind === 'welcome' && !isLeader && letter.tab === channel?.tab) {
      isSyncing = false;
      if (letter.steps === undefined) {
        log.restart(letter.position);
        reportMissed();
      } else if (log.position === undefined) log.restart(letter.position);
      else for (const step of letter.steps) takeStep(step);
      setState(parseState(letter.state));
      greet();
    } else if (letter.kind === 'step' && !isLeader) takeStep(letter.step);
    else if (letter.kind === 'state' && !isLeader) {
      setState(parseState(letter.state));
      // A leader that closed may have left a request of this tab without a response.
      if (isSyncing || letter.position !== log.position) sayHello();
    }
  }

  function welcome(tab: string, position: string | undefined): void {
    if (position !== undefined && log.position === undefined) start(position);
    const steps = position === undefined ? [] : log.findAfter(position);
    channel?.post({
      kind: 'welcome',
      tab,
      steps,
      position: log.position,
      state: formatState(state.current),
    });
  }

  function start(position: string): void {
    log.restart(position);
    beginning.abort();
  }

  /** Reads the stream for all tabs until the signal is aborted, or the service closes the stream. */
  async function lead(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    isLeader = true;
    isSyncing = false;
    greet();
    const setStreamState = (next: StreamState) => {
      if (signal.aborted) return;
      channel?.post({ kind: 'state', position: log.position, state: formatState(next) });
      setState(next);
    };
    const add = (step: StreamStep) => {
      log.add(step);
      beginning.abort();
      channel?.post({ kind: 'step', step });
      applyStep(step);
    };
    if (log.position !== undefined)
      setStreamState({
        status: 'reconnecting',
        attempt: 0,
        retryAtMs: clock.nowMs(),
        reason: 'leaderChange',
      });
    else if (from === 'first-result') await clock.sleep(Number.POSITIVE_INFINITY, [signal, beginning.signal]);
    try {
      const stream = client.subscribe(
        document,
        {},
        {
          signal,
          onState: setStreamState,
          position: {
            load: () => log.position,
            save(position) {
              if (position !== log.position) add({ after: log.position, position });
            },
          },
        },
      );
      for await (const event of stream) {
        const { id: position } = event;
        const step = { after: log.position, position };
        if (event.type === 'data') add({ ...step, data: JSON.stringify(event.data) });
        else add({ ...step, isGap: true });
      }
    } catch (error) {
      if (!signal.aborted && !(error instanceof ContentGraphError)) throw error;
    } finally {
      isLeader = false;
    }
  }

  /** Takes part until the signal is aborted: on the end of the page, and while the page is frozen. */
  async function join(signal: AbortSignal): Promise<void> {
    if (!isShared) return lead(signal);
    channel = openTabChannel(name, receive);
    try {
      if (channel === undefined) return await lead(signal);
      sayHello();
      await leadTabs(name, signal, lead);
    } finally {
      channel?.close();
      channel = undefined;
    }
  }

  async function run(): Promise<void> {
    while (!lifetime.aborted) {
      await activity.waitUntilActive(lifetime);
      const membership = linkSignals(lifetime, activity.suspension);
      await join(membership.signal).finally(() => membership.unlink());
      if (!membership.signal.aborted) return;
    }
  }

  const cancelGreeting = clock.setTimer(() => greet(), GREETING_MS);
  lifetime.addEventListener('abort', () => {
    cancelGreeting();
    greet();
    // The error of a stream that the service closed stays.
    if (state.current.status !== 'closed') setState({ status: 'closed' });
    link.unlink();
  });
  activity.onRetry(() => channel?.post({ kind: 'retry' }), lifetime);
  run().catch(reportCallbackError);

  const changes: Changes<Change> = {
    state,
    follow(follower, signal) {
      followers.add(follower);
      signal.addEventListener('abort', () => followers.delete(follower));
    },
    optimisticChange() {
      const before = log.position;
      return (change) => {
        if (log.position === before) applyChange(change);
      };
    },
    close: () => link.abort(),
  };
  const internals: ChangesInternals<Change> = {
    client,
    greeted,
    hasPosition: () => log.position !== undefined && !isSyncing,
    startAfter(eventId, follower) {
      if (log.position === undefined) {
        start(eventId);
        reportMissed(follower);
        if (!isLeader) sayHello();
        return;
      }
      const steps = log.findAfter(eventId);
      if (steps === undefined) call(() => follower.onMissedEvents());
      else for (const step of steps) applyStep(step, new Set([follower]));
    },
  };
  known.set(changes, internals);
  return changes;
}
