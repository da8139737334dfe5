import { LRUCache } from 'lru-cache';
import type { Clock } from '../platform/clock.ts';
import type { Logger } from '../platform/log.ts';

const INTERVAL_MS = 60_000;
const MAX_ENTRIES = 10_000;

export interface LastUseOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** What is used, for the log. */
  readonly what: string;
  readonly store: (id: string, at: Date) => Promise<unknown>;
}

/** Notes when something was used, as far as it is not noted already. */
export type NoteUse = (id: string, storedAt: Date | null) => void;

/** Last-used times are for people, and keep a session from going idle: one write a minute each, which no request waits for. */
export function createLastUse({ clock, log, what, store }: LastUseOptions): NoteUse {
  const noted = new LRUCache<string, number>({ max: MAX_ENTRIES });
  return (id, storedAt) => {
    const nowMs = clock.now();
    const last = Math.max(noted.get(id) ?? 0, storedAt?.getTime() ?? 0);
    if (nowMs - last < INTERVAL_MS) return;
    noted.set(id, nowMs);
    store(id, new Date(nowMs)).catch((error: unknown) =>
      log.warn({ err: error }, `the last use of ${what} was not stored`),
    );
  };
}
