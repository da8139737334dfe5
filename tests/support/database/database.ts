import { randomBytes } from 'node:crypto';
import { cp, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import pg from 'pg';
import { expect, inject } from 'vitest';
import { drawDatabase, drawFolder, type WorldSettings } from './drawn-world.ts';
import { keepEngine } from './kept-engine.ts';
import type { Template } from './template.ts';
import { makeTestFolder } from './test-folder.ts';

/** A database of one's own, as the settings that name it. */
export interface TestDatabase {
  readonly settings: Readonly<Record<string, string>>;
  drop(): Promise<void>;
}

const made = new Map<string, number>();

/** Names a database for the draw of its settings: the file of the test, and which of its databases it is. */
function nextLabel(): string {
  const file = relative(process.cwd(), expect.getState().testPath ?? '');
  const count = (made.get(file) ?? 0) + 1;
  made.set(file, count);
  return `${file} ${count}`;
}

export interface TestDatabaseOptions {
  readonly template?: Template;
  /** Which draw of settings it has. */
  readonly label?: string;
  /** Settings that are not drawn. */
  readonly world?: WorldSettings;
}

/**
 * Copies the migrated template: embedded, or on the server of DATABASE_URL where that is set. What a host, a database or
 * a role may set is drawn.
 */
export async function createTestDatabase({
  template = inject('template'),
  label = nextLabel(),
  world = {},
}: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const dataDir = await makeTestFolder('content-graph-test-');
  const dropFolder = () => rm(dataDir, { recursive: true, force: true });
  if (template.kind === 'embedded') {
    await keepEngine();
    await cp(join(template.folder, 'postgres'), join(dataDir, 'postgres'), { recursive: true });
    await drawFolder(dataDir, label, world);
    return { settings: { DATA_DIR: dataDir }, drop: dropFolder };
  }
  const name = `content_graph_test_${randomBytes(6).toString('hex')}`;
  const client = new pg.Client({ connectionString: template.url });
  await client.connect();
  // Two copies of one template at a time are rejected: whoever comes second waits.
  await client.query('SELECT pg_advisory_lock(4711)');
  await client.query(`CREATE DATABASE ${name} TEMPLATE ${template.name}`);
  await client.query('SELECT pg_advisory_unlock(4711)');
  await drawDatabase(client, name, label, world);
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
