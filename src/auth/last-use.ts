import { LRUCache } from 'lru-cache';
import type { Clock } from '../platform/clock.ts';
import type { Logger } from '../platform/log.ts';

const INTERVAL_MS = 60_000;
/** The same as SQL. */
export const FRESH = "interval '60 seconds'";
const MAX_ENTRIES = 10_000;

export interface LastUseOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** What is used, for the log. */
  readonly what: string;
  /** Stores that it is used now, by the database's clock. */
  readonly store: (id: string) => Promise<unknown>;
}

/** Notes that something is used. `fresh`: as it was found, that was noted a short time ago. */
export type NoteUse = (id: string, fresh: boolean) => void;

/** Last-used times are for people, and keep a session from going idle: one write a minute each, which no request waits for. */
export function createLastUse({ clock, log, what, store }: LastUseOptions): NoteUse {
  const noted = new LRUCache<string, number>({ max: MAX_ENTRIES });
  return (id, fresh) => {
    if (fresh) return;
    // What was found may have been found a moment before it was noted.
    const elapsedMs = clock.elapsedMs();
    if (elapsedMs - (noted.get(id) ?? Number.NEGATIVE_INFINITY) < INTERVAL_MS) return;
    noted.set(id, elapsedMs);
    store(id).catch((error: unknown) => log.warn({ err: error }, `the last use of ${what} was not stored`));
  };
}
