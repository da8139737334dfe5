import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from '../../../src/generated/prisma/client.ts';
import type { Config } from '../../../src/platform/config.ts';
import { publishedAddress } from '../../../src/platform/db/embedded/address.ts';
import { COMMAND } from '../../../src/platform/db/embedded/held-time.ts';
import { embeddedServer } from '../../../src/platform/db/server.ts';
import { DEFAULT_SCHEMA, settingsSql } from '../../../src/platform/db/session-settings.ts';

function connectionOf({ database, dataDir }: Config): pg.ClientConfig {
  if (database.kind === 'postgres') return { connectionString: database.directUrl };
  const address = publishedAddress(dataDir);
  if (address === undefined) throw new Error('nobody serves the embedded database');
  return embeddedServer(address, { application_name: COMMAND }).connection;
}

/** Prisma's client on a connection of the test's own, with the settings of the service's: to look past the API. */
export function openPrisma(config: Config): { readonly prisma: PrismaClient; close(): Promise<void> } {
  const schema = (config.database.kind === 'postgres' ? config.database.schema : undefined) ?? DEFAULT_SCHEMA;
  const pool = new pg.Pool({
    ...connectionOf(config),
    max: 1,
    onConnect: (client) => client.query(settingsSql({ schema })),
  });
  // Tests end connections on purpose; the pool opens another one.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool, { schema }) });
  return {
    prisma,
    async close() {
      await prisma.$disconnect();
      await pool.end();
    },
  };
}
