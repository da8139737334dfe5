import { inBatches } from '../platform/async.ts';
import { atMost } from '../platform/deadline.ts';
import type { Logger } from '../platform/log/log.ts';
import type { Metrics } from '../platform/metrics/metrics.ts';
import type { Database } from './database.ts';
import { isOutage, toDatabaseError } from './errors.ts';
import { type Parameter, type Queryable, statement } from './statement.ts';

/**
 * Deletes rows that nobody needs any more, by the database's clock, since an instance's may be wrong. A feature whose rows
 * expire defines jobs for them.
 */
export interface Job {
  /** The value of the label `task` of its metrics: Prometheus has a label `job` of its own. */
  readonly name: string;
  /** Returns how many rows it has removed. Ends between two statements once `signal` is aborted. Throws DatabaseError. */
  run(db: Queryable, signal?: AbortSignal): Promise<number>;
}

/** Rows to delete. */
export interface Deletable {
  readonly table: string;
  /** The columns of its primary key. */
  readonly key?: string;
  /** SQL. Its parameters begin with $2. */
  readonly condition: string;
  readonly values?: readonly Parameter[];
}

/** Small, so that locks and transactions stay short: long ones would delay events. */
const BATCH = 500;

/** A job that deletes all rows that meet a condition. Rows that somebody else is using wait for the next time. */
export function deletion(name: string, ...parts: readonly Deletable[]): Job {
  const batches = parts.map(({ table, key = 'id', condition, values = [] }) => ({
    values: [BATCH, ...values],
    drop: statement<{ one: number }>(
      `${table}_drop`,
      `DELETE FROM ${table} WHERE (${key}) IN (
         SELECT ${key} FROM ${table} WHERE ${condition} LIMIT $1 FOR UPDATE SKIP LOCKED
       ) RETURNING 1 AS one`,
    ),
  }));
  return {
    name,
    async run(db, signal) {
      let total = 0;
      for (const { drop, values } of batches)
        total += await inBatches(BATCH, async () => (await db.query(drop, values)).length, signal);
      return total;
    },
  };
}

/** Any number that no other advisory lock of the database has. */
const ADVISORY_LOCK = 2_026_112_300;
const END_LIMIT_MS = 1_000;

/**
 * Takes the right to do the clean-up, which one instance has at a time; undefined if another instance has it. It is a
 * session's advisory lock on a connection of its own, past a pooler: the server ends it when the connection ends,
 * however the instance dies. The embedded database has one instance, which always has it. Throws DatabaseError.
 */
async function takeCleanUpLock(database: Database): Promise<{ end(): Promise<void> } | undefined> {
  if (database.kind === 'embedded') return { end: async () => undefined };
  let client: Awaited<ReturnType<Database['dedicatedClient']>> | undefined;
  const end = async () => {
    // A server that does not answer must not hold up the next time. A connection that is already lost has ended.
    await atMost(END_LIMIT_MS, client?.end().catch(() => undefined) ?? Promise.resolve());
  };
  try {
    client = await database.dedicatedClient({ limited: true });
    const { rows } = await client.query<{ mine: boolean }>('SELECT pg_try_advisory_lock($1) AS mine', [
      ADVISORY_LOCK,
    ]);
    if (rows[0]?.mine === true) return { end };
    await end();
    return undefined;
  } catch (error) {
    await end();
    throw toDatabaseError(error);
  }
}

const DURATION_BUCKETS_SECONDS = [0.01, 0.1, 1, 10, 60];

/**
 * Metrics of the clean-up. An instance counts what it does itself: add up or take the greatest over all instances.
 * `names`: all jobs, so that each has its counters from the start.
 */
function createJobMetrics(metrics: Metrics, names: readonly string[]) {
  const label = ['job_name'] as const;
  // A task that never succeeds must be overdue some day.
  const lastSuccess = new Map(names.map((job) => [job, Date.now() / 1000]));
  metrics.gauges(
    'content_graph_job_last_success_timestamp_seconds',
    'Unix time at which this instance last completed the job. Before the first completion, the time at which the instance started.',
    'job_name',
    () => lastSuccess,
  );
  const duration = metrics.timingsBy(
    'content_graph_job_duration_seconds',
    'Duration of completed jobs.',
    DURATION_BUCKETS_SECONDS,
    'job_name',
  );
  const removed = metrics.counter('content_graph_job_rows_deleted_total', 'Rows that jobs deleted.', label);
  const failures = metrics.counter('content_graph_job_failures_total', 'Failed jobs.', label);
  for (const job of names) {
    duration.of(job);
    removed.inc({ job_name: job }, 0);
    failures.inc({ job_name: job }, 0);
  }
  return {
    succeeded(job: string, rows: number, seconds: number): void {
      lastSuccess.set(job, Date.now() / 1000);
      duration.of(job).observe(seconds);
      if (rows > 0) removed.inc({ job_name: job }, rows);
    },
    failed: (job: string) => failures.inc({ job_name: job }),
  };
}

interface CleanUpOptions {
  readonly jobs: readonly Job[];
  readonly database: Database;
  readonly metrics: Metrics;
  readonly log: Logger;
}

const INTERVAL_MS = 60_000;
/** Instances that start together must not come together every minute. */
const JITTER = 0.2;
/** More than a statement may take. */
const STOP_LIMIT_MS = 6_000;

/** Under this name, which no job has, failures to get the lock are counted. */
const LOCK = '';

const isPowerOfTwo = (count: number) => (count & (count - 1)) === 0;

/**
 * Does the clean-up, every minute on one of the instances. Starts with a pause. A failed job keeps none of the others
 * from running, and runs again the next time.
 */
export function startCleanUp({ jobs, database, log, ...options }: CleanUpOptions) {
  const metrics = createJobMetrics(
    options.metrics,
    jobs.map(({ name }) => name),
  );
  const stopping = new AbortController();
  const failures = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();

  /** Logs the first, second, fourth, eighth… failure in a row. */
  function logFailure(
    what: string,
    fields: { readonly err: unknown; readonly job?: string },
    message: string,
  ): void {
    const count = (failures.get(what) ?? 0) + 1;
    failures.set(what, count);
    if (isPowerOfTwo(count)) log.warn({ ...fields, failures: count }, message);
  }

  function note(job: string, error: unknown): void {
    metrics.failed(job);
    // The database is away, which is logged where it is lost.
    if (!isOutage(error)) logFailure(job, { err: error, job }, 'a background job failed');
  }

  /** Without the lock, none of the jobs was done. */
  async function noteNoLock(error: unknown): Promise<void> {
    for (const { name } of jobs) metrics.failed(name);
    // The lock needs a connection past a pooler, so the database may be there all the same.
    if (isOutage(error) && !(await database.watch.check())) return;
    logFailure(LOCK, { err: error }, 'the clean-up could not start');
  }

  async function run({ name, run: work }: Job): Promise<void> {
    const startedMs = performance.now();
    try {
      const rows = await work(database, stopping.signal);
      metrics.succeeded(name, rows, (performance.now() - startedMs) / 1000);
      if (rows > 0) log.debug({ job: name, rows }, 'rows removed');
      if (failures.delete(name)) log.info({ job: name }, 'a background job works again');
    } catch (error) {
      note(name, error);
    }
  }

  async function all(): Promise<void> {
    if (stopping.signal.aborted) return;
    let lock: Awaited<ReturnType<typeof takeCleanUpLock>>;
    try {
      lock = await takeCleanUpLock(database);
    } catch (error) {
      return noteNoLock(error);
    }
    if (failures.delete(LOCK)) log.info('the clean-up can start again');
    if (lock === undefined) return;
    for (const job of jobs) if (!stopping.signal.aborted) await run(job);
    await lock.end();
  }

  /** Does all jobs now, unless another instance is doing them. Never rejects. */
  function runAll(): Promise<void> {
    running = running.then(all);
    return running;
  }

  function schedule(): void {
    if (stopping.signal.aborted) return;
    const pauseMs = INTERVAL_MS * (1 - JITTER / 2 + JITTER * Math.random());
    timer = setTimeout(() => void runAll().then(schedule), pauseMs).unref();
  }

  schedule();
  return {
    runAll,
    /** Ends between two statements. */
    async stop(): Promise<void> {
      stopping.abort();
      clearTimeout(timer);
      await atMost(STOP_LIMIT_MS, running);
    },
  };
}
