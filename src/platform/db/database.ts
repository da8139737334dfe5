import { Socket } from 'node:net';
import pg from 'pg';
import type { Logger } from '../log.ts';
import type { Cancellation } from './cancellation.ts';
import { ConnectionLine, type Place, type Turn } from './connection-line.ts';
import { DatabaseError, isAbandoned, toDatabaseError } from './errors.ts';
import { lendFor, limitStatements, statementCancelled } from './limited-client.ts';
import { NamedQuery } from './named-query.ts';
import { prismaOn } from './pinned-prisma.ts';
import { PreparedBudget } from './prepared-statements.ts';
import { RecentUse } from './recent-use.ts';
import { type DatabaseServer, openServer, type ServerOptions } from './server.ts';
import type { Parameter, Query, Queryable, Statement } from './statement.ts';
import { DatabaseStatistics } from './statistics.ts';
import { type Connection, UnitOfWork, type UnitOfWorkOptions } from './unit-of-work.ts';
import { type DatabaseWatch, UNWATCHED, watchServer } from './watch.ts';

/** The database, embedded or a server: statements and units of work share one pool. */
export interface Database extends Queryable {
  readonly kind: 'embedded' | 'postgres';
  /** The schema of the tables. */
  readonly schema: string;
  /** Whether the server can be reached. Tells of outages in the log. */
  readonly watch: DatabaseWatch;
  /** The setting that names the server for migrations and LISTEN. */
  readonly directSetting: string;
  /** Each account's recent use of the connections. */
  readonly recentUse: RecentUse;
  readonly statistics: DatabaseStatistics;
  /** The same pool with a cancellation, which cancels the running statement and prevents further ones. */
  cancellable(cancellation: Cancellation): Queryable;
  /** A transaction that begins with its first statement. */
  unitOfWork(options?: UnitOfWorkOptions, cancellation?: Cancellation): UnitOfWork;
  /**
   * A connection that the caller owns. It bypasses the connection pooler, if there is one. `limited` applies
   * the pool's time limits to its statements.
   */
  dedicatedClient(options?: { readonly limited?: boolean }): Promise<pg.Client>;
  /** Set if LISTEN on a connection does not hear of others, as on the embedded database. */
  readonly notified: DatabaseServer['notified'];
  close(): Promise<void>;
}

/** A connection on loan from the pool, with its place in the queue. */
interface Loan {
  readonly client: pg.PoolClient;
  readonly place: Place;
  readonly cancellation: Cancellation | undefined;
  /** How many bytes its work had received when it got the connection. */
  readonly receivedBefore: number;
}

const CONNECT_TIMEOUT_MS = 5_000;
const IDLE_TIMEOUT_MS = 30_000;
/** How often a statement of its own is run that PostgreSQL ends in favour of another. */
const MAX_TRIES = 5;
/** Detects a vanished peer on idle connections, without TCP's default delay of two hours. */
const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };

/** Whether a connection can be reused. The pool replaces one that is closing or broken. */
function isOpen({ connection }: pg.PoolClient): boolean {
  return connection.stream instanceof Socket && connection.stream.readyState === 'open';
}

/** Opens the configured database. Throws the same errors as opening an embedded folder. */
export async function openDatabase(options: ServerOptions): Promise<Database> {
  const server = await openServer(options);
  return connectDatabase(options.config.database.kind, server, options.log);
}

/** Connects to a server. Closing the database closes the server. */
export function connectDatabase(kind: Database['kind'], server: DatabaseServer, log: Logger): Database {
  const control: DatabaseServer = {
    ...server,
    onEnd: (sinceMs, error) =>
      statistics.ended(sinceMs, error == null ? undefined : toDatabaseError(error).kind),
  };
  const pool = new pg.Pool({
    ...server.connection,
    max: server.poolSize,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: kind === 'embedded' ? 0 : IDLE_TIMEOUT_MS,
    ...KEEP_ALIVE,
    async onConnect(client) {
      limitStatements(client, control);
      if (server.greeting !== undefined) await client.query(server.greeting);
    },
  });
  // The pool replaces a broken connection; without an error listener, it would end the process.
  const onLook = (reachable: boolean) => {
    statistics.up = reachable;
  };
  const watch = server.watched === undefined ? UNWATCHED : watchServer({ ...server.watched, log, onLook });
  pool.on('error', watch.broke);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const recentUse = new RecentUse();
  const line = new ConnectionLine<pg.PoolClient>(server.poolSize, recentUse);
  const statistics = new DatabaseStatistics(() => ({
    most: server.poolSize,
    open: pool.totalCount,
    inUse: pool.totalCount - pool.idleCount,
    waiting: line.waiting + pool.waitingCount,
  }));
  const budget = server.named ? new PreparedBudget(server.poolSize) : undefined;

  async function serverReady(): Promise<void> {
    try {
      await server.ready();
    } catch (error) {
      throw new DatabaseError('unavailable', error);
    }
  }

  async function connectClient(): Promise<pg.PoolClient> {
    try {
      return await pool.connect();
    } catch (error) {
      // A restarting server refuses connections for a moment.
      if (kind !== 'embedded') {
        watch.broke(error);
        throw toDatabaseError(error);
      }
      await serverReady();
      return pool.connect().catch((again: unknown) => Promise.reject(toDatabaseError(again)));
    }
  }

  async function lend(cancellation?: Cancellation): Promise<Loan> {
    if (kind === 'embedded') await serverReady();
    const sinceMs = performance.now();
    const free = line.enter(cancellation?.owner);
    const { place, connection }: Turn<pg.PoolClient> =
      free === undefined ? await line.wait(cancellation) : { place: free, connection: undefined };
    try {
      const client = connection ?? (await connectClient());
      lendFor(client, cancellation);
      statistics.waits.observe((performance.now() - sinceMs) / 1000);
      return { client, place, cancellation, receivedBefore: cancellation?.received ?? 0 };
    } catch (error) {
      const reason = toDatabaseError(error);
      statistics.failed(reason.kind);
      line.refuseAll(reason);
      line.leave(place, 0);
      throw reason;
    }
  }

  function giveBack({ client, place, cancellation, receivedBefore }: Loan, error?: Error): void {
    lendFor(client, undefined);
    const bytes = (cancellation?.received ?? 0) - receivedBefore;
    const handsOver = error === undefined && isOpen(client);
    if (handsOver && line.leave(place, bytes, client)) return;
    client.release(error);
    if (!handsOver) line.leave(place, bytes);
  }

  /** Runs queries in one flight. Resolves to what `answer` makes of the rows of each. */
  function fly<Answer>(
    client: pg.PoolClient,
    queries: readonly Query<unknown>[],
    before: string | undefined,
    answer: (results: unknown[][]) => Answer,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const done = (error: unknown, results: unknown[][]) =>
        error == null ? resolve(answer(results)) : reject(toDatabaseError(error));
      client.query(new NamedQuery(queries, { budget, before }, done));
    });
  }

  const run = <Row>(client: pg.PoolClient, query: Query<Row>, before?: string): Promise<Row[]> =>
    fly(client, [query], before, ([rows]) => rows as Row[]);

  async function queryOnce<Row>(
    statement: Statement<Row>,
    values: readonly Parameter[],
    cancellation?: Cancellation,
  ): Promise<Row[]> {
    if (cancellation?.cancelled) throw toDatabaseError(statementCancelled());
    const loan = await lend(cancellation);
    let broken: Error | undefined;
    try {
      return await run(loan.client, { statement, values }, server.alone);
    } catch (error) {
      if (error instanceof DatabaseError && error.kind === 'unavailable') broken = error;
      throw cancellation !== undefined && isAbandoned(error) ? new DatabaseError('timeout', error) : error;
    } finally {
      giveBack(loan, broken);
    }
  }

  /** With a cancellation, for reads only: a statement that was ended counts as a timeout in any case. */
  async function query<Row>(
    statement: Statement<Row>,
    values: readonly Parameter[],
    cancellation?: Cancellation,
  ): Promise<Row[]> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await queryOnce(statement, values, cancellation);
      } catch (error) {
        // Through a pooler it has the server's isolation level. Nothing of it was written.
        if (!(error instanceof DatabaseError && error.kind === 'conflict') || tries === MAX_TRIES)
          throw error;
      }
    }
  }

  async function connect(cancellation?: Cancellation): Promise<Connection> {
    if (cancellation?.cancelled) throw toDatabaseError(statementCancelled());
    const loan = await lend(cancellation);
    const { client } = loan;
    const begin = (lockLimitMs?: number) => {
      const sql = server.begin ?? 'BEGIN';
      return lockLimitMs === undefined || kind === 'embedded'
        ? sql
        : `${sql}; SET LOCAL lock_timeout = ${lockLimitMs}`;
    };
    return {
      client,
      get prisma() {
        return prismaOn(client, server.schema);
      },
      begin: async (lockLimitMs) => void (await client.query(begin(lockLimitMs))),
      async beginWith(queries) {
        // Several commands in one text cannot be part of the flight.
        if (server.begin !== undefined) await client.query(begin());
        const before = server.begin === undefined ? 'BEGIN' : undefined;
        return fly(client, queries, before, (results) => results);
      },
      query: (statement, values) => run(client, { statement, values }),
      queryAlone: (statement, values) => run(client, { statement, values }, server.alone),
      release: (error) => giveBack(loan, error),
    };
  }

  return {
    kind,
    schema: server.schema,
    watch,
    directSetting: (server.watched?.direct ?? server.watched?.server)?.setting ?? 'DATA_DIR',
    recentUse,
    notified: server.notified,
    statistics,
    query: (statement, values) => query(statement, values),
    cancellable: (cancellation) => ({ query: (statement, values) => query(statement, values, cancellation) }),
    unitOfWork: (options = {}, cancellation) =>
      new UnitOfWork(() => connect(cancellation), options, cancellation),
    async dedicatedClient({ limited = false } = {}) {
      await serverReady();
      const client = new pg.Client({
        ...server.direct,
        connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
        ...KEEP_ALIVE,
      });
      // It may break before the caller can listen. The first statement then reports the error.
      client.on('error', () => undefined);
      await client.connect();
      if (limited) limitStatements(client, server);
      await client.query(server.directGreeting);
      return client;
    },
    async close() {
      watch.close();
      await pool.end();
      await server.close();
    },
  };
}
