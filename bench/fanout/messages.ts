/** What the bench asks of the process that holds the subscribers. */
export type Wish = ConnectWish | ExpectWish | WaitWish | LagsWish | { readonly kind: 'disconnect' | 'stop' };

export interface ConnectWish {
  readonly kind: 'connect';
  readonly port: number;
  readonly subscribers: number;
  /** Whole requests, as text; the subscribers send them in turn. */
  readonly requests: readonly string[];
  /** How many may be connecting at a time. */
  readonly atOnce: number;
  /** Whether each sends the last id that it was given before. */
  readonly resume: boolean;
  /** Whether they read nothing after their first block. */
  readonly silent: boolean;
  readonly limitMs: number;
}

/** From now on each subscriber is to receive so many events. */
export interface ExpectWish {
  readonly kind: 'expect';
  readonly subscribers: number;
  readonly events: number;
}

/** Tell when they have arrived. */
export interface WaitWish {
  readonly kind: 'wait';
  readonly limitMs: number;
}

/** How late they came. */
export interface LagsWish {
  readonly kind: 'lags';
  /** When each event was known to be committed, in the machine's time. */
  readonly knownMs: readonly number[];
}

export interface Connected {
  readonly kind: 'connected';
  readonly elapsedMs: number;
  /** How often one was rejected or dropped, and tried again. */
  readonly retries: number;
}

export interface Received {
  readonly kind: 'received';
  /** When the last event arrived, in the machine's time. */
  readonly lastMs: number;
  /** What all subscribers have read since they were to expect something. */
  readonly bytes: number;
}

export interface Lags {
  readonly kind: 'lags';
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly longestMs: number;
}

/** What it answers: to each wish one of these. */
export type Told =
  | { readonly kind: 'ready' }
  | { readonly kind: 'expecting' }
  | { readonly kind: 'disconnected' }
  | Connected
  | Received
  | Lags
  | { readonly kind: 'failed'; readonly reason: string };

/** What a server without a database is to send to its subscribers. */
export interface Emission {
  /** An event as the service sends it. */
  readonly frame: string;
  readonly events: number;
  /** Whether all of them are written in one turn of the event loop; otherwise each has a turn of its own. */
  readonly together: boolean;
}
