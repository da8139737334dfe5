import { runInBatches } from '../platform/async.ts';
import { withTimeout } from '../platform/deadline.ts';
import type { LogFields, Logger } from '../platform/log/log.ts';
import type { LogEventCode } from '../platform/log/log-events.ts';
import type { Metrics } from '../platform/metrics/metrics.ts';
import type { Database } from './database.ts';
import { isOutage, toDatabaseError } from './errors.ts';
import { type Parameter, type Queryable, statement } from './statement.ts';

/**
 * Jobs delete expired or unused rows. Conditions use the clock of the database, because the clock of an
 * instance may be wrong.
 */
export interface Job {
  /** Value of the label `job_name`, because Prometheus sets a label `job`. */
  readonly name: string;
  /**
   * Stops between two statements once `signal` is aborted.
   * @returns the number of deleted rows.
   * @throws {DatabaseError}
   */
  run(db: Queryable, signal?: AbortSignal): Promise<number>;
}

export interface Deletable {
  readonly table: string;
  readonly key?: string;
  /** SQL, whose parameters begin with $2. */
  readonly condition: string;
  readonly values?: readonly Parameter[];
}

/** The batch is small because long transactions would delay events and block other writers. */
const BATCH = 500;

/** Rows that another transaction has locked wait for the next run. */
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
        total += await runInBatches(BATCH, async () => (await db.query(drop, values)).length, signal);
      return total;
    },
  };
}

/** The key must differ from every other advisory lock key of the database. */
const ADVISORY_LOCK = 2_026_112_300;
const RELEASE_LIMIT_MS = 1_000;

/**
 * Session-level advisory lock on a separate connection, which bypasses a pooler. The server releases the lock
 * when the connection closes, also after a crash.
 * @returns undefined if another instance has the lock.
 * @throws {DatabaseError}
 */
async function acquireJobLock(database: Database): Promise<{ release(): Promise<void> } | undefined> {
  if (database.kind === 'embedded') return { release: async () => undefined };
  let client: Awaited<ReturnType<Database['dedicatedClient']>> | undefined;
  const release = async () => {
    // An unresponsive server must not delay the next run.
    await withTimeout(RELEASE_LIMIT_MS, client?.end().catch(() => undefined) ?? Promise.resolve());
  };
  try {
    client = await database.dedicatedClient({ limited: true });
    const { rows } = await client.query<{ mine: boolean }>('SELECT pg_try_advisory_lock($1) AS mine', [
      ADVISORY_LOCK,
    ]);
    if (rows[0]?.mine === true) return { release };
    await release();
    return undefined;
  } catch (error) {
    await release();
    throw toDatabaseError(error);
  }
}

const DURATION_BUCKETS_SECONDS = [0.01, 0.1, 1, 10, 60];

/** Each instance counts the jobs that it runs, so queries add up or take the maximum over all instances. */
function createJobMetrics(metrics: Metrics, names: readonly string[]) {
  const label = ['job_name'] as const;
  // The start counts as a success, so that a job that never succeeds becomes overdue.
  const lastSuccess = new Map(names.map((job) => [job, Date.now() / 1000]));
  metrics.gauges(
    'content_graph_job_last_success_timestamp_seconds',
    'Unix time at which this instance last completed the job or, before that, started.',
    'job_name',
    () => lastSuccess,
  );
  const duration = metrics.labelledHistogram(
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

interface JobRunnerOptions {
  readonly jobs: readonly Job[];
  readonly database: Database;
  readonly metrics: Metrics;
  readonly log: Logger;
}

const INTERVAL_MS = 60_000;
/** Jitter keeps instances that start together from colliding every minute. */
const JITTER = 0.2;
/** 6 s, longer than a statement may take. */
const STOP_LIMIT_MS = 6_000;

const LOCK = '';

const isPowerOfTwo = (count: number) => (count & (count - 1)) === 0;

/**
 * One of the instances runs the jobs every minute. A failed job does not stop the other jobs, and runs again
 * after the next pause.
 */
export function startJobRunner({ jobs, database, log, ...options }: JobRunnerOptions) {
  const metrics = createJobMetrics(
    options.metrics,
    jobs.map(({ name }) => name),
  );
  const stopping = new AbortController();
  const failures = new Map<string, { count: number; readonly sinceMs: number }>();
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();

  function logFailure(event: LogEventCode, what: string, fields: LogFields): void {
    const known = failures.get(what) ?? { count: 0, sinceMs: performance.now() };
    known.count += 1;
    failures.set(what, known);
    if (isPowerOfTwo(known.count)) log.emit(event, { ...fields, failureCount: known.count });
  }

  function logRecovery(event: LogEventCode, what: string, fields: LogFields = {}): void {
    const known = failures.get(what);
    if (known === undefined) return;
    failures.delete(what);
    const durationSeconds = Math.round((performance.now() - known.sinceMs) / 1_000);
    log.emit(event, { ...fields, durationSeconds });
  }

  function note(job: string, error: unknown): void {
    metrics.failed(job);
    // The watch of the database logs outages.
    if (!isOutage(error)) logFailure('job.failed', job, { err: error, job });
  }

  async function noteNoLock(error: unknown): Promise<void> {
    for (const { name } of jobs) metrics.failed(name);
    // The lock needs a connection that bypasses a pooler, so the database may be available to requests.
    if (isOutage(error) && !(await database.watch.check())) return;
    logFailure('job.runner_failed', LOCK, { err: error });
  }

  async function run({ name, run: work }: Job): Promise<void> {
    const startedMs = performance.now();
    try {
      const rows = await work(database, stopping.signal);
      metrics.succeeded(name, rows, (performance.now() - startedMs) / 1000);
      if (rows > 0) log.emit('job.rows_deleted', { job: name, rows });
      logRecovery('job.recovered', name, { job: name });
    } catch (error) {
      note(name, error);
    }
  }

  async function all(): Promise<void> {
    if (stopping.signal.aborted) return;
    let lock: Awaited<ReturnType<typeof acquireJobLock>>;
    try {
      lock = await acquireJobLock(database);
    } catch (error) {
      return noteNoLock(error);
    }
    logRecovery('job.runner_recovered', LOCK);
    if (lock === undefined) return;
    for (const job of jobs) if (!stopping.signal.aborted) await run(job);
    await lock.release();
  }

  /** Never rejects. */
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
    async stop(): Promise<void> {
      stopping.abort();
      clearTimeout(timer);
      await withTimeout(STOP_LIMIT_MS, running);
    },
  };
}
