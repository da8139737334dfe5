import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from '../../generated/prisma/client.ts';

const NESTED: Readonly<Record<string, string>> = {
  BEGIN: 'SAVEPOINT prisma',
  COMMIT: 'RELEASE SAVEPOINT prisma',
  ROLLBACK: 'ROLLBACK TO SAVEPOINT prisma',
};

/** A pool of the one connection that it is given. Transactions that Prisma opens on it become savepoints. */
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
 * Prisma's client on one connection, made once for each connection and kept as long: what it reads and writes belongs
 * to the transaction that is open there.
 */
export function prismaOn(client: pg.PoolClient): PrismaClient {
  let prisma = clients.get(client);
  if (prisma === undefined) {
    prisma = new PrismaClient({ adapter: new PrismaPg(new PinnedPool(client)) });
    clients.set(client, prisma);
  }
  return prisma;
}
