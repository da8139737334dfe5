import type { Clock } from '../../platform/clock.ts';
import type { Logger } from '../../platform/log.ts';

/** Whether the service should be sent requests. */
export interface Readiness {
  /** What speaks against it, in words for operators; undefined where nothing does. May be a second old. */
  problem(): Promise<string | undefined>;
  /** From here on the service is about to go. */
  leave(): void;
}

export interface ReadinessOptions {
  /** Asks the database, and rejects where it is gone. */
  readonly pendingMigrations: () => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Anybody may ask, as often as they like: the database is asked once a second at most (contract section 2). */
const MAX_AGE_MS = 1_000;

/** Migrations that were once applied stay so; the database is asked all the same, since it may be gone. */
export function createReadiness({ pendingMigrations, clock, log }: ReadinessOptions): Readiness {
  let leaving = false;
  let migrated = false;
  let answer: { readonly problem: string | undefined; readonly untilMs: number } | undefined;
  let probe: Promise<string | undefined> | undefined;

  async function look(): Promise<string | undefined> {
    try {
      const pending = await pendingMigrations();
      if (!migrated && pending.length > 0) return `migrations are pending: ${pending.join(', ')}`;
      migrated = true;
      return undefined;
    } catch (error) {
      log.warn({ err: error }, 'the database cannot be reached');
      return 'the database cannot be reached';
    }
  }

  async function begin(): Promise<string | undefined> {
    const untilMs = clock.elapsedMs() + MAX_AGE_MS;
    const problem = await look();
    answer = { problem, untilMs };
    probe = undefined;
    return problem;
  }

  function current(): Promise<string | undefined> | string | undefined {
    if (answer !== undefined && clock.elapsedMs() < answer.untilMs) return answer.problem;
    probe ??= begin();
    return probe;
  }

  return {
    async problem() {
      const problem = leaving ? undefined : await current();
      return leaving ? 'shutting down' : problem;
    },
    leave() {
      leaving = true;
    },
  };
}
