/** Writes the API reference, with the responses to its examples, and the tables of log events and settings. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from '../src/app/create-app.ts';
import { type Database, openDatabase } from '../src/database/database.ts';
import { migrate } from '../src/database/migrate.ts';
import { loadConfig } from '../src/platform/config/config.ts';
import { createLogger } from '../src/platform/log/log.ts';
import { readArguments } from '../src/platform/process.ts';
import { buildSchema } from '../src/schema/schema.ts';
import { addExampleData } from './api-docs/example-data.ts';
import { type ExampleService, runExamples } from './api-docs/examples.ts';
import { printEventLists } from './api-docs/log-events.ts';
import { apiReference } from './api-docs/reference.ts';
import { printSettingTables } from './api-docs/settings.ts';

export const API_FILE = new URL('../docs/reference/api.md', import.meta.url);
export const LOGGING_FILE = new URL('../docs/operate/logging.md', import.meta.url);
const CONFIGURATION_FILE = new URL('../docs/operate/configuration.md', import.meta.url);
const ENV_EXAMPLE_FILE = new URL('../.env.example', import.meta.url);
const INTRO = new URL('api-docs/intro.md', import.meta.url);

/** The content of `docs/reference/api.md`. Needs a migrated database that is empty. */
export async function printedReference(database: Database, fetch: ExampleService['fetch']): Promise<string> {
  const { key, instants } = await addExampleData(database);
  const examples = await runExamples({ fetch, key }, instants);
  return apiReference(buildSchema(), readFileSync(INTRO, 'utf8'), examples);
}

async function main(): Promise<void> {
  readArguments(
    'npm run docs:api\n\nWrites docs/reference/api.md, with the responses to its examples, the events of docs/operate/logging.md, and the settings of docs/operate/configuration.md.\n',
    {},
  );
  writeFileSync(LOGGING_FILE, printEventLists(readFileSync(LOGGING_FILE, 'utf8')));
  const settings = readFileSync(ENV_EXAMPLE_FILE, 'utf8');
  writeFileSync(CONFIGURATION_FILE, printSettingTables(readFileSync(CONFIGURATION_FILE, 'utf8'), settings));
  const folder = mkdtempSync(join(tmpdir(), 'content-graph-docs-'));
  const config = loadConfig({ NODE_ENV: 'test', DATA_DIR: folder });
  const log = createLogger({ level: 'error', pretty: false });
  const database = await openDatabase({ config, log });
  await migrate(database);
  const app = createApp({ config, database, log });
  const fetch = async (path: string, init: RequestInit) =>
    app.fetch(new Request(new URL(path, 'http://127.0.0.1:4000'), init));
  try {
    writeFileSync(API_FILE, await printedReference(database, fetch));
  } finally {
    await app.close();
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) await main();
