import type pg from 'pg';
import type { Config } from '../platform/config/config.ts';
import type { Clock } from '../platform/deadline.ts';
import { eventLoop } from '../platform/fairness/event-loop.ts';
import { FairQueue, type FairQueueOptions, QueueFullError } from '../platform/fairness/fair-queue.ts';
import type { Logger } from '../platform/log/log.ts';
import type { Metrics } from '../platform/metrics/metrics.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import { watchDatabase } from './availability.ts';
import { Cancellation } from './cancellation.ts';
import { createConnections, openClient, openPool, serverReady } from './connections.ts';
import { DatabaseError, isAbandoned, toDatabaseError } from './errors.ts';
import { lendFor, statementCancelled } from './pg-client.ts';
import { NamedQuery, PreparedBudget } from './pg-query.ts';
import { Retries } from './retries.ts';
import { type DatabaseServer, openServer, type ServerOptions } from './server.ts';
import type { Parameter, Query, Queryable, Statement } from './statement.ts';
import { DatabaseStatistics, TracedStatements } from './statement-instrumentation.ts';
import { type PooledConnection, prismaOn, UnitOfWork, type UnitOfWorkOptions } from './unit-of-work.ts';

export interface Services {
  readonly config: Config;
  readonly database: Database;
  readonly log: Logger;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly tracing: Tracing | undefined;
}

export type Database = ReturnType<typeof connectDatabase>;

interface Loan {
  readonly client: pg.PoolClient;
  readonly sinceMs: number;
  readonly cancellation: Cancellation | undefined;
  readonly receivedBefore: number;
  readonly trace: TracedStatements | undefined;
  /** Time spent in lock timeouts, for which the owner is not charged. */
  waitedMs: number;
}

/** Receiving rows costs this process about 3 ms of CPU per MiB. */
const MS_A_BYTE = 3 / 1_048_576;

/**
 * Opens the configured database.
 * @throws {OperatorError} if the data directory of the embedded database is unusable or locked.
 */
export async function openDatabase(options: ServerOptions): Promise<Database> {
  const server = await openServer(options);
  return connectDatabase(options.config.database.kind, server, options.log);
}

/** Closing the database closes the server. */
export function connectDatabase(kind: 'embedded' | 'postgres', server: DatabaseServer, log: Logger) {
  const control: DatabaseServer = {
    ...server,
    onEnd(sinceMs, error) {
      statistics.ended(sinceMs, error == null ? undefined : toDatabaseError(error).kind);
      if (error != null) void watch.failed(error);
    },
  };
  const pool = openPool(kind, control);
  const watch = watchDatabase({
    ...server.watched,
    isSupervised: kind === 'embedded',
    log,
    onLook(reachable) {
      statistics.up = reachable;
    },
    isConnected: () => connections.isConnected,
    onWritable: () => connections.renew(),
  });
  pool.on('error', watch.broke);
  const connections = createConnections({
    ...{ pool, server, log },
    watch: kind === 'embedded' ? undefined : watch,
  });
  const queue = new FairQueue<pg.PoolClient>({ concurrency: server.poolSize });
  const statistics = new DatabaseStatistics(() => ({
    most: server.poolSize,
    open: pool.totalCount,
    inUse: pool.totalCount - pool.idleCount,
    waiting: queue.waitingCount + pool.waitingCount,
  }));
  const budget = server.named ? new PreparedBudget(server.poolSize) : undefined;

  /**
   * pg's queue is first-in, first-out and times out, so a cheap read behind heavy reads of many accounts
   * would be rejected.
   */
  async function waitForSlot(cancellation?: Cancellation): Promise<pg.PoolClient | undefined> {
    try {
      return await queue.wait(cancellation?.owner, cancellation);
    } catch (error) {
      throw error instanceof QueueFullError ? new DatabaseError('timeout', error) : error;
    }
  }

  async function lend(cancellation?: Cancellation): Promise<Loan> {
    if (kind === 'embedded')
      await serverReady(server).catch((error: unknown) => {
        statistics.failed('unavailable');
        throw error;
      });
    const askedMs = performance.now();
    const connection = queue.acquire(cancellation?.owner) ? undefined : await waitForSlot(cancellation);
    const sinceMs = performance.now();
    try {
      const client = connection ?? (await connections.connect(cancellation));
      lendFor(client, cancellation);
      statistics.waits.observe((sinceMs - askedMs) / 1000);
      const receivedBefore = cancellation?.received ?? 0;
      const trace = cancellation?.span && new TracedStatements(cancellation.span);
      return { client, sinceMs, cancellation, receivedBefore, trace, waitedMs: 0 };
    } catch (error) {
      const reason = toDatabaseError(error);
      statistics.failed(reason.kind);
      if (reason.kind !== 'timeout') queue.rejectAll(reason);
      queue.release(cancellation?.owner);
      throw reason;
    }
  }

  /**
   * The connection goes directly to the next waiter, because the pool costs an iteration of the event loop
   * and two timers.
   */
  function giveBack({ client, sinceMs, cancellation, receivedBefore, waitedMs }: Loan, error?: Error): void {
    lendFor(client, undefined);
    if (cancellation !== undefined) {
      const bytes = cancellation.received - receivedBefore;
      queue.use.add(cancellation.owner, performance.now() - sinceMs - waitedMs + bytes * MS_A_BYTE);
    }
    connections.giveBack(client, error, (passedOn) => queue.release(cancellation?.owner, passedOn));
  }

  /** Runs queries in one round trip. */
  function runTogether<Result>(
    loan: Loan,
    queries: readonly Query<unknown>[],
    before: string | undefined,
    toResult: (results: unknown[][]) => Result,
  ): Promise<Result> {
    const beganMs = performance.now();
    const endSpans = loan.trace?.statements(queries);
    return new Promise((resolve, reject) => {
      const done = (error: unknown, results: unknown[][]) => {
        // The work does not wait for a time slice, because it occupies a connection and maybe locks.
        eventLoop.charge(loan.cancellation?.owner);
        const reason = error == null ? undefined : toDatabaseError(error);
        endSpans?.(results, reason);
        if (reason === undefined) return resolve(toResult(results));
        if (reason.kind === 'locked') loan.waitedMs += performance.now() - beganMs;
        return reject(reason);
      };
      loan.client.query(new NamedQuery(queries, { budget, before }, done));
    });
  }

  const run = <Row>(loan: Loan, query: Query<Row>, before?: string): Promise<Row[]> =>
    runTogether(loan, [query], before, ([rows]) => rows as Row[]);

  /**
   * @param isRead true if the work has written nothing, so that a cancelled statement is always a timeout.
   */
  async function queryOnce<Row>(
    statement: Statement<Row>,
    values: readonly Parameter[],
    cancellation: Cancellation | undefined,
    isRead: boolean,
  ): Promise<Row[]> {
    if (cancellation?.cancelled) throw toDatabaseError(statementCancelled());
    const loan = await lend(cancellation);
    let broken: Error | undefined;
    try {
      return await run(loan, { statement, values }, server.alone);
    } catch (error) {
      if (error instanceof DatabaseError && error.kind === 'unavailable') broken = error;
      throw isRead && isAbandoned(error) ? new DatabaseError('timeout', error) : error;
    } finally {
      giveBack(loan, broken);
    }
  }

  async function query<Row>(
    statement: Statement<Row>,
    values: readonly Parameter[],
    cancellation?: Cancellation,
    { isRead = false, takesTimeSlice = false } = {},
  ): Promise<Row[]> {
    let rows: Row[];
    try {
      rows = await queryOnce(statement, values, cancellation, isRead);
    } catch (error) {
      const retries = new Retries(server.lockWaitMs);
      await retries.after(error);
      rows = await retries.run(() => queryOnce(statement, values, cancellation, isRead));
    }
    const waiting = takesTimeSlice ? eventLoop.enter(cancellation?.owner) : undefined;
    if (waiting !== undefined) await waiting;
    return rows;
  }

  async function connect(cancellation?: Cancellation): Promise<PooledConnection> {
    if (cancellation?.cancelled) throw toDatabaseError(statementCancelled());
    const loan = await lend(cancellation);
    const { client, trace } = loan;
    const { alone, begin = 'BEGIN' } = server;
    return {
      client,
      get prisma() {
        return prismaOn(client, server.schema);
      },
      begin: async () => void (await client.query(trace?.begin(begin) ?? begin)),
      async beginWith(queries) {
        // The extended query protocol rejects several commands in one string.
        const first = trace?.begin(begin) ?? server.begin;
        if (first !== undefined) await client.query(first);
        const before = first === undefined ? 'BEGIN' : undefined;
        return runTogether(loan, queries, before, (results) => results);
      },
      query: (statement, values) => run(loan, { statement, values }),
      queryTogether: (queries) => runTogether(loan, queries, undefined, (results) => results),
      queryAlone: (statement, values) => run(loan, { statement, values }, trace?.alone(alone) ?? alone),
      release(error, committed = false) {
        trace?.end(error, committed);
        giveBack(loan, error);
      },
    };
  }

  return {
    kind,
    schema: server.schema,
    watch,
    /** The setting that names the server for migrations and LISTEN. */
    directSetting: (server.watched.direct ?? server.watched.server).setting,
    queue,
    lockWaitMs: server.lockWaitMs,
    /** Set for the embedded database, where a second connection for LISTEN is not available. */
    notified: server.notifications?.notified,
    statistics,
    /** @throws {DatabaseError} */
    query: <Row>(statement: Statement<Row>, values: readonly Parameter[]) => query(statement, values),
    /** A view of the pool for reads, which a cancellation cancels. */
    cancellable: (cancellation: Cancellation, { takesTimeSlice = true } = {}): Queryable => ({
      query: (statement, values) => query(statement, values, cancellation, { isRead: true, takesTimeSlice }),
    }),
    /** A view of the pool for statements of an owner, who waits for time slices. */
    owned: (owner: string | undefined, work?: Cancellation): Queryable => ({
      async query(statement, values) {
        const cancellation = new Cancellation(undefined, owner);
        if (work?.cancelled === true) cancellation.cancel();
        const stay = work?.onCancel(() => cancellation.cancel());
        try {
          return await query(statement, values, cancellation);
        } finally {
          stay?.();
        }
      },
    }),
    unitOfWork: (options: UnitOfWorkOptions = {}, cancellation?: Cancellation) =>
      new UnitOfWork(() => connect(cancellation), options, cancellation),
    /**
     * Opens a connection that bypasses a pooler, and which the caller closes.
     * @param limited applies the time limits of the pool.
     */
    async dedicatedClient({ limited = false } = {}): Promise<pg.Client> {
      await serverReady(server);
      return openClient(server, limited);
    },
    /**
     * Runs `work` on a connection that bypasses a pooler. Closing the connection also rolls back a failed
     * transaction. Requests to the embedded database, which has one session, wait until `work` ends.
     * @param limited applies the time limits of the pool.
     */
    async alone<T>(work: (client: pg.Client) => Promise<T>, { limited = false } = {}): Promise<T> {
      const loan = kind === 'embedded' ? await lend() : undefined;
      const client = openClient(server, limited);
      const ended = () => client.then((opened) => opened.end()).finally(() => loan && giveBack(loan));
      return client.then(work).finally(ended);
    },
    async close(): Promise<void> {
      watch.close();
      await pool.end();
      await server.close();
    },
  };
}

type LongWorkQueueOptions = Omit<FairQueueOptions, 'concurrency' | 'maxPerOwner' | 'maxPerOwnerAlone'>;

/**
 * PostgreSQL shows an event only when every older transaction has ended. Five open transactions of one
 * account tripled the delay of all events, because each of them got a fifth of the time.
 */
const TRANSACTIONS_OF_OWNER = 3;

function sizes({ database }: Config): { readonly concurrency: number; readonly maxPerOwner: number } {
  const connections = database.kind === 'postgres' ? database.poolSize : 1;
  const maxPerOwner = Math.max(1, Math.floor(connections / 2));
  return { concurrency: Math.max(1, Math.min(maxPerOwner + 1, connections - 1)), maxPerOwner };
}

/**
 * Limits work that occupies a database connection for long. While other owners wait, one owner gets at most
 * half of the connections. The remaining connections stay free for reads.
 */
export function createLongWorkQueue(config: Config, options: LongWorkQueueOptions = {}): FairQueue {
  return new FairQueue({ ...options, ...sizes(config) });
}

export function createTransactionQueue(config: Config, options: LongWorkQueueOptions = {}): FairQueue {
  const { concurrency, maxPerOwner: half } = sizes(config);
  const maxPerOwner = Math.min(TRANSACTIONS_OF_OWNER, half);
  return new FairQueue({ ...options, concurrency, maxPerOwner, maxPerOwnerAlone: maxPerOwner });
}
