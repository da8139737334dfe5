import type { ContentGraphError } from './errors.ts';
import { createStore, type Store } from './store.ts';

/** Why a stream is not open. `leaderChange`: the tab that had the stream open was closed. */
export type ReconnectReason = 'network' | 'unauthenticated' | 'rateLimited' | 'unavailable' | 'leaderChange';

/** The state of an event stream. */
export type StreamState =
  /** No reader has asked for an event yet. */
  | { readonly status: 'idle' }
  | { readonly status: 'connecting' }
  /** After `missedEvents`, lists must be read again. */
  | { readonly status: 'live'; readonly since: 'opened' | 'resumed' | 'missedEvents' }
  | {
      readonly status: 'reconnecting';
      /** The number of failed attempts. */
      readonly attempt: number;
      /** When the next attempt begins, in milliseconds since the epoch. */
      readonly retryAtMs: number;
      readonly reason: ReconnectReason;
      readonly error?: ContentGraphError | undefined;
    }
  /** The browser froze the page. */
  | { readonly status: 'suspended' }
  /** Without an error, the program closed the stream. */
  | { readonly status: 'closed'; readonly error?: ContentGraphError | undefined };

/** The states of all streams of a client. */
export interface StreamStates {
  /** The worst of all states. */
  readonly worst: Store<StreamState>;
  /** Sets the state of a stream. */
  set(stream: object, state: StreamState): void;
}

const SEVERITY: Readonly<Record<StreamState['status'], number>> = {
  idle: 0,
  live: 1,
  suspended: 2,
  connecting: 3,
  reconnecting: 4,
  closed: 5,
};

const computeSeverity = (state: StreamState): number =>
  SEVERITY[state.status] + (state.status === 'reconnecting' && state.reason === 'unauthenticated' ? 0.5 : 0);

export function createStreamStates(): StreamStates {
  const states = new Map<object, StreamState>();
  const worst = createStore<StreamState>({ status: 'idle' });
  return {
    worst,
    set(stream, state) {
      // A new stream replaces those that the service closed.
      if (!states.has(stream))
        for (const [other, { status }] of states) if (status === 'closed') states.delete(other);
      states.set(stream, state);
      if (state.status === 'closed' && state.error === undefined) states.delete(stream);
      const [first, ...others] = states.values();
      worst.set(
        others.reduce(
          (one, other) => (computeSeverity(other) > computeSeverity(one) ? other : one),
          first ?? { status: 'idle' },
        ),
      );
    },
  };
}
