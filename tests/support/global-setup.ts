import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { loadConfig } from '../../src/platform/config.ts';
import { openDatabase } from '../../src/platform/db/database.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { createLogger } from '../../src/platform/log.ts';

/** A migrated database that each test file gets a copy of: a folder, or a template on the server of DATABASE_URL. */
export type Template =
  | { readonly kind: 'embedded'; readonly folder: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly name: string };

declare module 'vitest' {
  export interface ProvidedContext {
    template: Template;
  }
}

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

async function administer(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const url = process.env.DATABASE_URL;
  if (url === undefined) {
    const folder = await mkdtemp(join(tmpdir(), 'content-graph-template-'));
    await migrateOnce({ DATA_DIR: folder });
    project.provide('template', { kind: 'embedded', folder });
    return () => rm(folder, { recursive: true, force: true });
  }
  const name = `content_graph_template_${process.pid}`;
  await administer(url, `DROP DATABASE IF EXISTS ${name}`);
  await administer(url, `CREATE DATABASE ${name}`);
  const target = new URL(url);
  target.pathname = `/${name}`;
  await migrateOnce({ DATABASE_URL: target.href });
  project.provide('template', { kind: 'postgres', url, name });
  return () => administer(url, `DROP DATABASE IF EXISTS ${name}`);
}
