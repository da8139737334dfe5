import { Socket } from 'node:net';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from '../../generated/prisma/client.ts';
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
import type { Parameter, Queryable, Statement } from './statement.ts';
import { type Connection, UnitOfWork, type UnitOfWorkOptions } from './unit-of-work.ts';

/** The database, embedded or real: one pool under direct statements, units of work and Prisma's client. */
export interface Database extends Queryable {
  readonly kind: 'embedded' | 'postgres';
  /** For the paths where speed does not matter: credentials, administration. Never inside a unit of work. */
  readonly prisma: PrismaClient;
  /** How much each account has had of the connections lately. */
  readonly recentUse: RecentUse;
  /** The same pool for work that can be called off: what runs is then cancelled, and nothing more is begun. */
  cancellable(cancellation: Cancellation): Queryable;
  /** A transaction that opens with its first statement. */
  unitOfWork(options?: UnitOfWorkOptions, cancellation?: Cancellation): UnitOfWork;
  /**
   * A connection for as long as the caller keeps it, past a connection pooler where one is set up. `limited` has its
   * statements end in time, as those of the pool do.
   */
  dedicatedClient(options?: { readonly limited?: boolean }): Promise<pg.Client>;
  close(): Promise<void>;
}

/** A connection of the pool, and the place in the line that it is lent for. */
interface Loan {
  readonly client: pg.PoolClient;
  readonly place: Place;
  readonly cancellation: Cancellation | undefined;
  /** What its work had received when it got the connection. */
  readonly receivedBefore: number;
}

const CONNECT_TIMEOUT_MS = 5_000;
const IDLE_TIMEOUT_MS = 30_000;
/** A peer that is gone is noticed on connections that rest, too, and not only after the two hours of TCP's default. */
const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };

/** Whether a connection can be used on: one that is about to end, or is broken, is the pool's to replace. */
function isOpen({ connection }: pg.PoolClient): boolean {
  return connection.stream instanceof Socket && connection.stream.readyState === 'open';
}

/** Opens the database that the settings name. Throws what opening an embedded folder throws. */
export async function openDatabase(options: ServerOptions): Promise<Database> {
  const server = await openServer(options);
  return connectDatabase(options.config.database.kind, server, options.log);
}

/** The database on a server. Closing it closes the server. */
export function connectDatabase(kind: Database['kind'], server: DatabaseServer, log: Logger): Database {
  const pool = new pg.Pool({
    ...server.connection,
    max: server.poolSize,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: kind === 'embedded' ? 0 : IDLE_TIMEOUT_MS,
    ...KEEP_ALIVE,
    async onConnect(client) {
      limitStatements(client, server);
      if (server.greeting !== undefined) await client.query(server.greeting);
    },
  });
  // A connection that breaks is replaced by the pool; without listeners, idle or lent, it would end the process.
  pool.on('error', (error) => log.warn({ err: toDatabaseError(error) }, 'an idle database connection broke'));
  pool.on('connect', (client) => client.on('error', () => undefined));
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });
  const recentUse = new RecentUse();
  const line = new ConnectionLine<pg.PoolClient>(server.poolSize, recentUse);
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
      // A server that restarts refuses whoever connects at that moment.
      if (kind !== 'embedded') throw toDatabaseError(error);
      await serverReady();
      return pool.connect().catch((again: unknown) => Promise.reject(toDatabaseError(again)));
    }
  }

  async function lend(cancellation?: Cancellation): Promise<Loan> {
    if (kind === 'embedded') await serverReady();
    const free = line.enter(cancellation?.owner);
    const { place, connection }: Turn<pg.PoolClient> =
      free === undefined ? await line.wait(cancellation) : { place: free, connection: undefined };
    try {
      const client = connection ?? (await connectClient());
      lendFor(client, cancellation);
      return { client, place, cancellation, receivedBefore: cancellation?.received ?? 0 };
    } catch (error) {
      const reason = toDatabaseError(error);
      line.refuseAll(reason);
      line.leave(place, 0);
      throw reason;
    }
  }

  function giveBack({ client, place, cancellation, receivedBefore }: Loan, error?: Error): void {
    lendFor(client, undefined);
    const bytes = (cancellation?.received ?? 0) - receivedBefore;
    // Those who wait at the pool itself, as Prisma's client does, come first: they would wait for ever otherwise.
    const handsOver = error === undefined && pool.waitingCount === 0 && isOpen(client);
    if (handsOver && line.leave(place, bytes, client)) return;
    client.release(error);
    if (!handsOver) line.leave(place, bytes);
  }

  function run<Row>(
    client: pg.PoolClient,
    statement: Statement<Row>,
    values: readonly Parameter[],
    before?: string,
  ): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      const done = (error: unknown, rows: Row[]) =>
        error == null ? resolve(rows) : reject(toDatabaseError(error));
      client.query(new NamedQuery(statement, values, { budget, before }, done));
    });
  }

  /** With a cancellation it is a statement that changes nothing: past its time it is that, whatever became of it. */
  async function query<Row>(
    statement: Statement<Row>,
    values: readonly Parameter[],
    cancellation?: Cancellation,
  ): Promise<Row[]> {
    if (cancellation?.cancelled) throw toDatabaseError(statementCancelled());
    const loan = await lend(cancellation);
    let broken: Error | undefined;
    try {
      return await run(loan.client, statement, values, server.alone);
    } catch (error) {
      if (error instanceof DatabaseError && error.kind === 'unavailable') broken = error;
      throw cancellation !== undefined && isAbandoned(error) ? new DatabaseError('timeout', error) : error;
    } finally {
      giveBack(loan, broken);
    }
  }

  async function connect(cancellation?: Cancellation): Promise<Connection> {
    if (cancellation?.cancelled) throw toDatabaseError(statementCancelled());
    const loan = await lend(cancellation);
    const { client } = loan;
    return {
      client,
      get prisma() {
        return prismaOn(client);
      },
      begin(lockLimitMs) {
        const begin = server.begin ?? 'BEGIN';
        return lockLimitMs === undefined || kind === 'embedded'
          ? begin
          : `${begin}; SET LOCAL lock_timeout = ${lockLimitMs}`;
      },
      query: (statement, values) => run(client, statement, values),
      queryAlone: (statement, values) => run(client, statement, values, server.alone),
      release: (error) => giveBack(loan, error),
    };
  }

  return {
    kind,
    prisma,
    recentUse,
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
      // It may break in the packet that says it is ready, before a caller can listen: then the first statement tells.
      client.on('error', () => undefined);
      await client.connect();
      if (limited) limitStatements(client, server);
      return client;
    },
    async close() {
      await prisma.$disconnect();
      await pool.end();
      await server.close();
    },
  };
}
