import { rm } from 'node:fs/promises';
import pg from 'pg';
import { openDatabase } from '../../../src/database/database.ts';
import { migrate } from '../../../src/database/migrate.ts';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import { createDatabase } from './drawn-world.ts';
import { makeTestFolder } from './test-folder.ts';

/** A migrated database that each test file gets a copy of: a folder, or a template on the server of DATABASE_URL. */
export type Template =
  | { readonly kind: 'embedded'; readonly folder: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly name: string };

async function migrateOnce(settings: Record<string, string>): Promise<void> {
  const database = await openDatabase({
    config: loadConfig(settings),
    log: createLogger({ level: 'error', pretty: false }),
  });
  try {
    await migrate(database);
  } finally {
    await database.close();
  }
}

async function administer(url: string, act: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await act(client);
  } finally {
    await client.end();
  }
}

/** Makes the template, on the server of DATABASE_URL where that is set. `drop` is for when its copies are gone. */
export async function createTemplate(): Promise<{ readonly template: Template; drop(): Promise<void> }> {
  const url = process.env.DATABASE_URL;
  if (url === undefined) {
    const folder = await makeTestFolder('content-graph-template-');
    await migrateOnce({ DATA_DIR: folder });
    return {
      template: { kind: 'embedded', folder },
      drop: () => rm(folder, { recursive: true, force: true }),
    };
  }
  const name = `content_graph_template_${process.pid}`;
  const drop = () => administer(url, (client) => client.query(`DROP DATABASE IF EXISTS ${name}`));
  await drop();
  // Its copies have its locale.
  await administer(url, (client) => createDatabase(client, name, 'template'));
  const target = new URL(url);
  target.pathname = `/${name}`;
  await migrateOnce({ DATABASE_URL: target.href });
  return {
    template: { kind: 'postgres', url, name },
    drop,
  };
}
