import type { PoolClient } from 'pg';
import type { PrismaClient } from '../../generated/prisma/client.ts';
import type { Cancellation } from './cancellation.ts';
import { toCommitError, toDatabaseError } from './errors.ts';
import type { Parameter, Queryable, Statement } from './statement.ts';

/** A connection on loan: statements on it, Prisma's client bound to it. */
export interface Connection extends Queryable {
  readonly client: PoolClient;
  readonly prisma: PrismaClient;
  /** What opens a transaction, with its limits; with one on how long it waits for each lock, in milliseconds. */
  begin(lockLimitMs?: number): string;
  /** A statement outside of a transaction, which commits by itself. */
  queryAlone<Row>(statement: Statement<Row>, values: readonly Parameter[]): Promise<Row[]>;
  release(error?: Error): void;
}

export interface UnitOfWorkOptions {
  /** Whether there is one statement and no more: it then commits by itself, without the trips of BEGIN and COMMIT. */
  readonly oneStatement?: boolean;
  /** How long a statement waits for a lock; as long as it may run where absent. The embedded database has no such limit. */
  readonly lockLimitMs?: number;
}

/**
 * One transaction on one connection, for everything that a mutation reads and writes: all of it is done or nothing. It
 * opens with the first statement: a mutation that is refused before costs the database nothing. There is no way from
 * here to the pool, so that work inside a transaction cannot wait for a second connection.
 */
export class UnitOfWork implements Queryable {
  readonly #connect: () => Promise<Connection>;
  readonly #oneStatement: boolean;
  readonly #lockLimitMs: number | undefined;
  readonly #cancellation: Cancellation | undefined;
  #connection: Promise<Connection> | undefined;
  /** Settles when the connection is free for the next statement. */
  #turn: Promise<unknown> = Promise.resolve();
  #ended = false;
  #committed = false;

  constructor(
    connect: () => Promise<Connection>,
    { oneStatement = false, lockLimitMs }: UnitOfWorkOptions,
    cancellation?: Cancellation,
  ) {
    this.#connect = connect;
    this.#oneStatement = oneStatement;
    this.#lockLimitMs = lockLimitMs;
    this.#cancellation = cancellation;
  }

  async #begun(): Promise<Connection> {
    if (this.#ended) throw new Error('the unit of work has ended');
    this.#connection ??= this.#connect().then(async (connection) => {
      try {
        await connection.client.query(connection.begin(this.#lockLimitMs));
        return connection;
      } catch (error) {
        connection.release(error as Error);
        throw toDatabaseError(error);
      }
    });
    return this.#connection;
  }

  /** One statement after the other: loaders of one tick would otherwise meet on the connection. */
  query<Row>(statement: Statement<Row>, values: readonly Parameter[]): Promise<Row[]> {
    if (this.#oneStatement) return this.#queryAlone(statement, values);
    const result = this.#turn.then(async () => (await this.#begun()).query(statement, values));
    this.#turn = result.catch(() => undefined);
    return result;
  }

  /**
   * Runs the one statement that there is. Once it is on its way, calling it off can come too late: the statement's own
   * outcome says what became of it, if it is heard.
   */
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
      connection.release(broken);
    }
  }

  /** Runs `write` with Prisma's client on this transaction. Throws DatabaseError. */
  async withPrisma<T>(write: (prisma: PrismaClient) => Promise<T>): Promise<T> {
    if (this.#oneStatement) throw new Error('this unit of work is one statement');
    const { prisma } = await this.#begun();
    try {
      return await write(prisma);
    } catch (error) {
      throw toDatabaseError(error);
    }
  }

  /** Whether the one statement is done and has committed by itself: nothing undoes it. */
  get committed(): boolean {
    return this.#committed;
  }

  /**
   * Makes the work last. Throws DatabaseError: then nothing of it is there, but where its kind is `unknown` either all
   * of it or nothing.
   */
  async commit(): Promise<void> {
    await this.#end('COMMIT');
  }

  /** Undoes everything. Never throws: a connection that cannot roll back is closed, which does. */
  async rollback(): Promise<void> {
    await this.#end('ROLLBACK').catch(() => undefined);
  }

  async #end(sql: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    const connection = await this.#connection;
    if (connection === undefined) return;
    try {
      const { command: done } = await connection.client.query(sql);
      // PostgreSQL answers COMMIT in a failed transaction with ROLLBACK and no error.
      if (done !== sql) throw new Error('the transaction had failed and was rolled back');
      connection.release();
    } catch (error) {
      connection.release(error as Error);
      throw toCommitError(error);
    }
  }
}
