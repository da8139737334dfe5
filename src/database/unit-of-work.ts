import { PrismaPg } from '@prisma/adapter-pg';
import type { PoolClient } from 'pg';
import pg from 'pg';
import { PrismaClient } from '../generated/prisma/client.ts';
import type { Cancellation } from './cancellation.ts';
import { toCommitError, toDatabaseError } from './errors.ts';
import type { Parameter, Query, Queryable, Statement } from './statement.ts';

const NESTED: Readonly<Record<string, string>> = {
  BEGIN: 'SAVEPOINT prisma',
  COMMIT: 'RELEASE SAVEPOINT prisma',
  ROLLBACK: 'ROLLBACK TO SAVEPOINT prisma',
};

/** A transaction that Prisma opens on the given connection becomes a savepoint. */
class PinnedPool extends pg.Pool {
  readonly #client: pg.PoolClient;

  constructor(client: pg.PoolClient) {
    super({ max: 1 });
    this.#client = client;
    const run = (config: unknown): unknown => {
      const text = typeof config === 'string' ? config : (config as { text: string }).text;
      const nested = NESTED[text];
      return this.#client.query(
        (nested === undefined ? config : { ...(config as object), text: nested }) as string,
      );
    };
    const lent = Object.assign(Object.create(client) as pg.PoolClient, {
      query: run,
      release: () => undefined,
    });
    Object.assign(this, { query: run, connect: async () => lent });
  }
}

const clients = new WeakMap<pg.PoolClient, PrismaClient>();

/**
 * Prisma's statements take part in the open transaction of the connection. Prisma names `schema` in every
 * statement.
 */
export function prismaOn(client: pg.PoolClient, schema: string): PrismaClient {
  let prisma = clients.get(client);
  if (prisma === undefined) {
    prisma = new PrismaClient({ adapter: new PrismaPg(new PinnedPool(client), { schema }) });
    clients.set(client, prisma);
  }
  return prisma;
}

export interface PooledConnection extends Queryable {
  readonly client: PoolClient;
  readonly prisma: PrismaClient;
  begin(): Promise<void>;
  /**
   * Saves a round trip if the limits allow.
   * @returns the rows of each query.
   */
  beginWith(queries: readonly Query<unknown>[]): Promise<unknown[][]>;
  queryTogether(queries: readonly Query<unknown>[]): Promise<unknown[][]>;
  /** The statement commits by itself. */
  queryAlone<Row>(statement: Statement<Row>, values: readonly Parameter[]): Promise<Row[]>;
  /** @param committed true if all work on the connection is committed. */
  release(error?: Error, committed?: boolean): void;
}

export interface Author {
  /** Null for a command. */
  readonly actorId: string | null;
  /** `command`, or the kind of credentials and, after a colon, their id. Not secret. */
  readonly via: string;
  readonly requestId: string | null;
}

export interface UnitOfWorkOptions {
  /** Required for changes that the audit log records. */
  readonly author?: Author;
  /** A single statement commits by itself, which saves the round trips of BEGIN and COMMIT. */
  readonly singleStatement?: boolean;
}

/**
 * One transaction for everything that a mutation reads and writes. It begins with the first statement, so a
 * mutation that is rejected earlier costs the database nothing. A unit of work has no access to the pool, so
 * it cannot wait for a second connection and cause a deadlock.
 */
export class UnitOfWork implements Queryable {
  readonly author: Author | undefined;
  readonly #connect: () => Promise<PooledConnection>;
  readonly #singleStatement: boolean;
  readonly #cancellation: Cancellation | undefined;
  #connection: Promise<PooledConnection> | undefined;
  #previousQuery: Promise<unknown> = Promise.resolve();
  #ended = false;
  #committed = false;

  constructor(
    connect: () => Promise<PooledConnection>,
    { singleStatement = false, author }: UnitOfWorkOptions,
    cancellation?: Cancellation,
  ) {
    this.author = author;
    this.#connect = connect;
    this.#singleStatement = singleStatement;
    this.#cancellation = cancellation;
  }

  async #begun(): Promise<PooledConnection> {
    if (this.#ended) throw new Error('the unit of work has ended');
    this.#connection ??= this.#connect().then(async (connection) => {
      try {
        await connection.begin();
        return connection;
      } catch (error) {
        const reason = toDatabaseError(error);
        connection.release(reason);
        throw reason;
      }
    });
    return this.#connection;
  }

  /**
   * Runs two statements in one round trip. The second statement sees everything that was committed before the
   * first statement ended.
   * @throws {DatabaseError} after which the unit of work must be rolled back.
   */
  queryInOrder<A, B>(first: Query<A>, second: Query<B>): Promise<[A[], B[]]> {
    if (this.#ended || this.#singleStatement) throw new Error('this unit of work has no transaction');
    const queries = [first, second];
    const result =
      this.#connection === undefined
        ? this.#beginWith(queries)
        : this.#previousQuery.then(async () => (await this.#begun()).queryTogether(queries));
    this.#previousQuery = result.catch(() => undefined);
    return result as Promise<[A[], B[]]>;
  }

  /**
   * A failed statement leaves the connection open for `rollback`, because most failures are lock timeouts.
   */
  #beginWith(queries: readonly Query<unknown>[]): Promise<unknown[][]> {
    this.#connection = this.#connect();
    return this.#connection.then((connection) =>
      connection.beginWith(queries).catch((error: unknown) => Promise.reject(toDatabaseError(error))),
    );
  }

  /** Runs one statement at a time, because loaders of one tick would otherwise collide on the connection. */
  query<Row>(statement: Statement<Row>, values: readonly Parameter[]): Promise<Row[]> {
    if (this.#singleStatement) return this.#queryAlone(statement, values);
    const result = this.#previousQuery.then(async () => (await this.#begun()).query(statement, values));
    this.#previousQuery = result.catch(() => undefined);
    return result;
  }

  /** Once the statement is sent, its outcome counts and not a late cancellation. */
  async #queryAlone<Row>(statement: Statement<Row>, values: readonly Parameter[]): Promise<Row[]> {
    if (this.#ended) throw new Error('the unit of work has ended');
    this.#ended = true;
    const connection = await this.#connect();
    let broken: Error | undefined;
    if (this.#cancellation !== undefined) this.#cancellation.undecided = true;
    try {
      const rows = await connection.queryAlone(statement, values);
      this.#committed = true;
      return rows;
    } catch (error) {
      const known = toCommitError(error);
      if (known.kind === 'unavailable' || known.kind === 'unknown') broken = known;
      throw known;
    } finally {
      if (this.#cancellation !== undefined) this.#cancellation.undecided = false;
      connection.release(broken, this.#committed);
    }
  }

  /** @throws {DatabaseError} */
  async withPrisma<T>(run: (prisma: PrismaClient) => Promise<T>): Promise<T> {
    if (this.#singleStatement) throw new Error('this unit of work is a single statement');
    const { prisma } = await this.#begun();
    try {
      return await run(prisma);
    } catch (error) {
      throw toDatabaseError(error);
    }
  }

  get committed(): boolean {
    return this.#committed;
  }

  /** @throws {DatabaseError} Nothing was committed, unless the kind of the error is `unknown`. */
  async commit(): Promise<void> {
    await this.#end('COMMIT');
  }

  /** Never throws, because a connection that cannot roll back is closed, which has the same effect. */
  async rollback(): Promise<void> {
    await this.#end('ROLLBACK').catch(() => undefined);
  }

  /** Commits the change, or rolls back if `change` throws. */
  async run<T>(change: (work: UnitOfWork) => Promise<T>): Promise<T> {
    try {
      const result = await change(this);
      await this.commit();
      return result;
    } catch (error) {
      await this.rollback();
      throw error;
    }
  }

  async #end(sql: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    const connection = await this.#connection;
    if (connection === undefined) return;
    try {
      const { command: done } = await connection.client.query(sql);
      // PostgreSQL responds to COMMIT in a failed transaction with ROLLBACK and no error.
      if (done !== sql) throw new Error('the transaction had failed and was rolled back');
      this.#committed = sql === 'COMMIT';
      connection.release(undefined, this.#committed);
    } catch (error) {
      const reason = toCommitError(error);
      connection.release(reason);
      throw reason;
    }
  }
}

/** @throws {DatabaseError} */
export const runInPrisma = <T>(
  database: { unitOfWork(): UnitOfWork },
  run: (prisma: PrismaClient) => Promise<T>,
): Promise<T> => database.unitOfWork().run((work) => work.withPrisma(run));
