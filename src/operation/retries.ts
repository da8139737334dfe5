import { setTimeout as delay } from 'node:timers/promises';
import { GraphQLError } from 'graphql';
import { DatabaseError, type DatabaseErrorKind } from '../platform/db/errors.ts';

/** After so many conflicts in a row the client is told to try again itself. */
const MAX_CONFLICTS = 4;
const FIRST_PAUSE_MS = 10;
const MAX_DOUBLINGS = 5;

/** What of the database's was behind an error of an execution; undefined where it was nothing of the kind. */
export function databaseKindOf(error: unknown): DatabaseErrorKind | undefined {
  let origin: unknown = error;
  while (origin instanceof GraphQLError && origin.originalError != null) origin = origin.originalError;
  return origin instanceof DatabaseError ? origin.kind : undefined;
}

/** Whether and when a mutation is done again, of which the database has left nothing in favour of others. */
export class Retries {
  readonly #endMs: number;
  #conflicts = 0;
  #pauses = 0;

  /** It goes on trying to get its locks for so long. */
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
   * Waits, longer each time and by chance, so that two that were in each other's way don't meet again. Nothing is held
   * meanwhile: no lock, no connection, no place.
   */
  async pause(): Promise<void> {
    const pauseMs = FIRST_PAUSE_MS * 2 ** Math.min(this.#pauses, MAX_DOUBLINGS);
    this.#pauses += 1;
    await delay(pauseMs * (0.5 + Math.random()));
  }
}
