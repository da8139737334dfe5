import type { Database } from '../../database/database.ts';
import { readOnlyError } from '../../database/errors.ts';
import { MigrationError, pendingMigrations } from '../../database/migrate.ts';
import { type Clock, withTimeout } from '../../platform/deadline.ts';
import type { Metrics } from '../../platform/metrics/metrics.ts';
import { build } from '../../platform/process.ts';
import type { RouteHandler } from '../exchange.ts';
import { jsonResponse } from '../response/responder.ts';

interface ReadinessOptions {
  readonly pendingMigrations: () => Promise<readonly string[]>;
  /** Requests can be handled once these data were read. `loading` is the first attempt. */
  readonly load: () => { readonly loading: Promise<void> | undefined; readonly loaded: boolean };
  readonly writeProblem: () => string | undefined;
  readonly clock: Clock;
  readonly onFailure: (error: unknown) => void;
}

/** Any client may ask at any rate, so the database is queried at most once a second (contract: health). */
const MAX_AGE_MS = 1_000;
/** Probes of orchestrators time out after a few seconds, and a slower database cannot serve requests. */
const PROBE_LIMIT_MS = 2_000;

export const databaseReadiness = (database: Database, clock: Clock, load: ReadinessOptions['load']) =>
  createReadiness({
    load,
    pendingMigrations: () => pendingMigrations(database, () => database.watch.failed(readOnlyError())),
    writeProblem: () => database.watch.writeProblem,
    clock,
    onFailure: database.watch.broke,
  });

/** Applied migrations stay applied, but the database is still queried, since it may be unreachable. */
export function createReadiness(options: ReadinessOptions) {
  const { pendingMigrations, load, writeProblem, clock, onFailure } = options;
  let leaving = false;
  let migrated = false;
  let lastResult: { readonly problem: string | undefined; readonly untilMs: number } | undefined;
  let probe: Promise<string | undefined> | undefined;
  let looking: Promise<string | undefined> | undefined;

  /**
   * Returns the reason after PROBE_LIMIT_MS at the latest. The next call waits for the query that is still running.
   */
  async function look(): Promise<string | undefined> {
    looking ??= lookAtDatabase().finally(() => {
      looking = undefined;
    });
    const reason = looking;
    return (await withTimeout(PROBE_LIMIT_MS, reason)) ? reason : 'The database does not respond.';
  }

  async function lookAtDatabase(): Promise<string | undefined> {
    try {
      const pending = await pendingMigrations();
      if (!migrated && pending.length > 0)
        return `Migrations are pending: ${pending.join(', ')}. (Operator: run "npm run -s db:migrate".)`;
      migrated = true;
      await load().loading;
      return load().loaded ? undefined : 'IP address blocks and account limits have not been read yet.';
    } catch (error) {
      if (error instanceof MigrationError) return 'The migrations of the database do not match this version.';
      onFailure(error);
      return 'The database cannot be reached.';
    }
  }

  async function begin(): Promise<string | undefined> {
    const untilMs = clock.elapsedMs() + MAX_AGE_MS;
    const problem = await look();
    lastResult = { problem, untilMs };
    probe = undefined;
    return problem;
  }

  function current(): Promise<string | undefined> | string | undefined {
    if (lastResult !== undefined && clock.elapsedMs() < lastResult.untilMs) return lastResult.problem;
    probe ??= begin();
    return probe;
  }

  return {
    /** The reason is for operators and at most a second old. */
    async problem(): Promise<string | undefined> {
      const problem = leaving ? undefined : ((await current()) ?? writeProblem());
      return leaving ? 'The service is shutting down.' : problem;
    },
    /**
     * Returns the last result, or false before the first result. If the result is old, the database is queried for
     * the next caller.
     */
    lastKnown(): boolean {
      if (leaving) return false;
      void current();
      return lastResult !== undefined && lastResult.problem === undefined && writeProblem() === undefined;
    },
    leave(): void {
      leaving = true;
    },
  };
}

export type Readiness = ReturnType<typeof createReadiness>;

export function registerReadiness(metrics: Metrics, readiness: Pick<Readiness, 'lastKnown'>): void {
  metrics.gauge(
    'content_graph_ready',
    'Whether /health/ready returns 200 (1) or 503 (0), as of the previous scrape.',
    () => (readiness.lastKnown() ? 1 : 0),
  );
}

export const handleLive: RouteHandler = async () => jsonResponse({ status: 'ok', ...build() });

export function createReadyHandler({ problem }: Pick<Readiness, 'problem'>): RouteHandler {
  return async () => {
    const reason = await problem();
    if (reason === undefined) return jsonResponse({ status: 'ok' });
    const errors = [{ message: reason, extensions: { code: 'SERVICE_UNAVAILABLE' } }];
    return jsonResponse({ status: 'unavailable', reason, errors }, { status: 503 });
  };
}
