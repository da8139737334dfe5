import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import type { DatabaseServer } from '../../../src/database/server.ts';
import { settingsSql } from '../../../src/database/session-settings.ts';
import { PrismaClient } from '../../../src/generated/prisma/client.ts';

/** Prisma's client on a connection of the test's own, with the settings of the service's: to look past the API. */
export function openPrisma({ direct, schema, notifications }: DatabaseServer): {
  readonly prisma: PrismaClient;
  close(): Promise<void>;
} {
  const pool = new pg.Pool({
    ...direct,
    max: 1,
    onConnect: (client) => client.query(settingsSql({ schema })),
  });
  // Tests end connections on purpose; the pool opens another one.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    notifications?.hear(client);
  });
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool, { schema }) });
  return {
    prisma,
    async close() {
      await prisma.$disconnect();
      await pool.end();
    },
  };
}
