import { setTimeout as delay } from 'node:timers/promises';
import type { DatabaseErrorKind } from './errors.ts';

/** After this many conflicts the client has to retry itself. */
const MAX_CONFLICTS = 4;
const FIRST_PAUSE_MS = 10;
const MAX_DOUBLINGS = 5;

/** Decides whether and when to retry work that the database aborted in favour of others. */
export class Retries {
  readonly #endMs: number;
  #conflicts = 0;
  #pauses = 0;

  /** `lockWaitMs` is how long it keeps trying to acquire its locks. */
  constructor(lockWaitMs: number) {
    this.#endMs = performance.now() + lockWaitMs;
  }

  allows(kind: DatabaseErrorKind | undefined): boolean {
    if (kind === 'locked') return performance.now() < this.#endMs;
    if (kind !== 'conflict') return false;
    this.#conflicts += 1;
    return this.#conflicts <= MAX_CONFLICTS;
  }

  /**
   * Waits with exponential backoff and jitter, so that two of them do not collide again.
   * Nothing is held meanwhile: no lock, no connection.
   */
  async pause(): Promise<void> {
    const pauseMs = FIRST_PAUSE_MS * 2 ** Math.min(this.#pauses, MAX_DOUBLINGS);
    this.#pauses += 1;
    await delay(pauseMs * (0.5 + Math.random()));
  }
}
