import { randomBytes } from 'node:crypto';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { inject } from 'vitest';
import type { Template } from './template.ts';
import { makeTestFolder } from './test-folder.ts';

/** A database of one's own, as the settings that name it. */
export interface TestDatabase {
  readonly settings: Readonly<Record<string, string>>;
  drop(): Promise<void>;
}

/** Copies the migrated template: embedded, or on the server of DATABASE_URL where that is set. */
export async function createTestDatabase(template: Template = inject('template')): Promise<TestDatabase> {
  const dataDir = await makeTestFolder('content-graph-test-');
  const dropFolder = () => rm(dataDir, { recursive: true, force: true });
  if (template.kind === 'embedded') {
    await cp(join(template.folder, 'postgres'), join(dataDir, 'postgres'), { recursive: true });
    return { settings: { DATA_DIR: dataDir }, drop: dropFolder };
  }
  const name = `content_graph_test_${randomBytes(6).toString('hex')}`;
  const client = new pg.Client({ connectionString: template.url });
  await client.connect();
  // Two copies of one template at a time are refused: whoever comes second waits.
  await client.query('SELECT pg_advisory_lock(4711)');
  await client.query(`CREATE DATABASE ${name} TEMPLATE ${template.name}`);
  await client.query('SELECT pg_advisory_unlock(4711)');
  const url = new URL(template.url);
  url.pathname = `/${name}`;
  return {
    settings: { DATABASE_URL: url.href, DATA_DIR: dataDir },
    async drop() {
      await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await client.end();
      await dropFolder();
    },
  };
}
