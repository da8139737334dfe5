import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from '../../generated/prisma/client.ts';

const NESTED: Readonly<Record<string, string>> = {
  BEGIN: 'SAVEPOINT prisma',
  COMMIT: 'RELEASE SAVEPOINT prisma',
  ROLLBACK: 'ROLLBACK TO SAVEPOINT prisma',
};

/** A pool with one given connection. Transactions that Prisma opens on it become savepoints. */
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
 * Prisma's client on one connection, so that it takes part in the transaction open there. Created once per
 * connection and kept as long as the connection. `schema` holds the tables: Prisma names it in every statement.
 */
export function prismaOn(client: pg.PoolClient, schema: string): PrismaClient {
  let prisma = clients.get(client);
  if (prisma === undefined) {
    prisma = new PrismaClient({ adapter: new PrismaPg(new PinnedPool(client), { schema }) });
    clients.set(client, prisma);
  }
  return prisma;
}
