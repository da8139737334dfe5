import { LRUCache } from 'lru-cache';
import type { Clock } from '../platform/clock.ts';
import { isOutage } from '../platform/db/errors.ts';
import type { Logger } from '../platform/log.ts';

const INTERVAL_MS = 60_000;
/** INTERVAL_MS as SQL. */
export const FRESH = "interval '60 seconds'";
const MAX_ENTRIES = 10_000;

export interface LastUseOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** What is used, for the log. */
  readonly what: string;
  /** Stores a use now, by the database's clock. */
  readonly store: (id: string) => Promise<unknown>;
}

/** Records a use. `fresh` means that a recent use was already stored when the row was read. */
export type NoteUse = (id: string, fresh: boolean) => void;

/**
 * Last-used times inform people and keep sessions from going idle. Each is written at most once a minute, and
 * no request waits for it.
 */
export function createLastUse({ clock, log, what, store }: LastUseOptions): NoteUse {
  const noted = new LRUCache<string, number>({ max: MAX_ENTRIES });
  return (id, fresh) => {
    if (fresh) return;
    // The row may have been read just before a use was stored.
    const elapsedMs = clock.elapsedMs();
    if (elapsedMs - (noted.get(id) ?? Number.NEGATIVE_INFINITY) < INTERVAL_MS) return;
    noted.set(id, elapsedMs);
    store(id).catch((error: unknown) =>
      log[isOutage(error) ? 'debug' : 'warn']({ err: error }, `could not store the last use of ${what}`),
    );
  };
}
