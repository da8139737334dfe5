import type { Database } from '../../database/database.ts';
import { readOnlyError } from '../../database/errors.ts';
import { MigrationError, pendingMigrations } from '../../database/migrate.ts';
import { type Clock, withTimeout } from '../../platform/deadline.ts';
import type { Metrics } from '../../platform/metrics/metrics.ts';
import { build } from '../../platform/process.ts';
import type { RouteHandler } from '../exchange.ts';
import { jsonResponse } from '../response/responder.ts';

interface ReadinessOptions {
  /** Queries the database. Rejects if it is unreachable. */
  readonly pendingMigrations: () => Promise<readonly string[]>;
  /** What must have been read once before requests can be handled, and the first attempt to read it. */
  readonly load: () => { readonly loading: Promise<void> | undefined; readonly loaded: boolean };
  /** Why the database cannot write, if it cannot. */
  readonly writeProblem: () => string | undefined;
  readonly clock: Clock;
  /** Called with the error if the database does not respond. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Anyone may ask, as often as they like: the database is queried at most once a second (contract section 2).
 */
const MAX_AGE_MS = 1_000;
/** Probes of orchestrators give up after a second or a few, and a database that is slower than this serves nobody. */
const PROBE_LIMIT_MS = 2_000;

/** Whether a database has all migrations, and writes. */
export const databaseReadiness = (database: Database, clock: Clock, load: ReadinessOptions['load']) =>
  createReadiness({
    load,
    pendingMigrations: () => pendingMigrations(database, () => database.watch.failed(readOnlyError())),
    writeProblem: () => database.watch.writeProblem,
    clock,
    onFailure: database.watch.broke,
  });

/** Whether the service should receive requests. Applied migrations stay applied. The database is queried all the same, since it may be unreachable. */
export function createReadiness({
  pendingMigrations,
  load,
  writeProblem,
  clock,
  onFailure,
}: ReadinessOptions) {
  let leaving = false;
  let migrated = false;
  let lastResult: { readonly problem: string | undefined; readonly untilMs: number } | undefined;
  let probe: Promise<string | undefined> | undefined;
  let looking: Promise<string | undefined> | undefined;

  /** The reason, at the latest after PROBE_LIMIT_MS. The next call waits for the same look if it still lasts. */
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
    /** The reason why it should not, for operators; undefined if there is none. May be a second old. */
    async problem(): Promise<string | undefined> {
      const problem = leaving ? undefined : ((await current()) ?? writeProblem());
      return leaving ? 'The service is shutting down.' : problem;
    },
    /** The last result; false until there is one. If it is old, the database is asked, for the next caller. */
    lastKnown(): boolean {
      if (leaving) return false;
      void current();
      return lastResult !== undefined && lastResult.problem === undefined && writeProblem() === undefined;
    },
    /** Marks the service as shutting down. */
    leave(): void {
      leaving = true;
    },
  };
}

export type Readiness = ReturnType<typeof createReadiness>;

/** Has the metrics tell whether the instance is ready. */
export function registerReadiness(metrics: Metrics, readiness: Pick<Readiness, 'lastKnown'>): void {
  metrics.gauge(
    'content_graph_ready',
    'Whether /health/ready returns 200 (1) or the instance must get no requests (0), as of the previous scrape.',
    () => (readiness.lastKnown() ? 1 : 0),
  );
}

/** `/health/live`: the process responds, and says what it is. */
export const handleLive: RouteHandler = async () => jsonResponse({ status: 'ok', ...build() });

/** `/health/ready`: the service can serve requests, so a load balancer may send some. */
export function createReadyHandler({ problem }: Pick<Readiness, 'problem'>): RouteHandler {
  return async () => {
    const reason = await problem();
    if (reason === undefined) return jsonResponse({ status: 'ok' });
    const errors = [{ message: reason, extensions: { code: 'SERVICE_UNAVAILABLE' } }];
    return jsonResponse({ status: 'unavailable', reason, errors }, { status: 503 });
  };
}
