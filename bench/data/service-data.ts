import { randomBytes } from 'node:crypto';
import type { Client } from 'pg';
import { createApiKey } from '../../src/auth/api-keys.ts';
import type { Scope } from '../../src/auth/scopes.ts';
import { openDatabase } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { loadConfig } from '../../src/platform/config/config.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { createMetrics } from '../../src/platform/metrics/metrics.ts';
import { createSearchIndexer } from '../../src/schema/search/indexer.ts';
import { load, type Size } from './content.ts';

const SCOPES: readonly Scope[] = ['posts:read', 'posts:write', 'comments:write', 'users:read'];
const UNLIMITED = { burst: 1_000_000, perSecond: 1_000_000 };
const READERS = 500;

export interface PrepareOptions {
  /** What the service itself would be started with: DATABASE_URL, or DATA_DIR for the embedded database. */
  readonly settings: Readonly<Record<string, string>>;
  readonly size: Size;
  /** How many API keys, each of a user of its own. */
  readonly keys: number;
  /** Whether the keys have the limits that the settings give; otherwise they are raised out of the way. */
  readonly limited?: boolean;
  /** Adds rows of a benchmark's own. */
  readonly furnish?: (client: Client) => Promise<void>;
}

/** What a load generator has to know of the data. */
export interface Prepared {
  readonly keys: readonly string[];
  /** The account of the first key. */
  readonly authorId: string;
  /** Some users, in no order of theirs. */
  readonly readerIds: readonly string[];
}

async function readers(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT id FROM users WHERE email_key LIKE '%@bench.example' ORDER BY md5(id::text) LIMIT ${READERS}`,
  );
  return rows.map(({ id }) => id);
}

/** Brings an empty database to the service's schema by its own migrations, fills it, and makes API keys. */
export async function prepare({
  settings,
  size,
  keys,
  limited = false,
  furnish,
}: PrepareOptions): Promise<Prepared> {
  const config = loadConfig(settings);
  const log = createLogger({ level: 'warn', pretty: false });
  const database = await openDatabase({ config, log });
  try {
    await migrate(database);
    const client = await database.dedicatedClient();
    try {
      await client.query('SET statement_timeout = 0');
      await load(client, size);
      await furnish?.(client);
      // Those whom the service is held against have no id of their own making; their rows get one all the same.
      await client.query('ALTER TABLE posts ALTER id SET DEFAULT gen_random_uuid()');
      // The service would index the posts while it is measured.
      const isElected = () => Promise.resolve(true);
      const indexer = createSearchIndexer({ database, log, metrics: createMetrics(), isElected });
      while (await indexer.step());
      const readerIds = await readers(client);
      const made: string[] = [];
      for (const userId of readerIds.slice(0, keys)) {
        const limits = limited ? {} : UNLIMITED;
        made.push((await createApiKey(database, { userId, name: 'bench', scopes: SCOPES, ...limits })).key);
      }
      return { keys: made, authorId: readerIds[0] ?? '', readerIds };
    } finally {
      await client.end();
    }
  } finally {
    await database.close();
  }
}

/** Settings of a production start, as far as loopback goes: nothing is switched off. */
export function productionSettings(): Record<string, string> {
  return {
    NODE_ENV: 'production',
    SECRET_KEY: randomBytes(48).toString('base64'),
    PUBLIC_URL: 'https://bench.example',
    LOG_LEVEL: 'info',
    HOST: '127.0.0.1',
    PORT: '0',
    SHUTDOWN_DELAY_SECONDS: '0',
  };
}
