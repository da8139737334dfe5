import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { openDatabase } from '../../../src/database/database.ts';
import { migrate } from '../../../src/database/migrate.ts';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import { createDrawnDatabase, drawFolder } from '../../support/database/drawn-world.ts';
import type { Place } from './world.ts';

/**
 * A migrated database of one's own: on the server of DATABASE_URL where that is set, embedded otherwise. `label` draws what
 * its host may set.
 */
export async function provideDatabase(
  label: string,
): Promise<{ readonly place: Place; drop(): Promise<void> }> {
  const { DATABASE_URL: server, REDIS_URL: redis } = process.env;
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-sequences-'));
  const place: Record<string, string> = {
    DATA_DIR: folder,
    ...(redis === undefined ? {} : { REDIS_URL: redis }),
  };
  let dropDatabase = async () => {};
  if (server !== undefined) {
    const client = new pg.Client({ connectionString: server });
    await client.connect();
    const name = `content_graph_sequences_${randomBytes(6).toString('hex')}`;
    await createDrawnDatabase(client, name, label);
    const url = new URL(server);
    url.pathname = `/${name}`;
    place.DATABASE_URL = url.href;
    dropDatabase = async () => {
      await client.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await client.end();
    };
  }
  const { REDIS_URL: _, ...settings } = place;
  const log = createLogger({ level: 'error', pretty: false });
  const database = await openDatabase({ config: loadConfig({ NODE_ENV: 'test', ...settings }), log });
  await migrate(database);
  await database.close();
  if (server === undefined) await drawFolder(folder, label);
  return {
    place,
    async drop() {
      await dropDatabase();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
