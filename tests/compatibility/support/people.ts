import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { type Command, run } from '../../../scripts/cluster/processes.ts';
import type { Template } from '../../support/database/template.ts';
import { environment, ROOT, type Settings } from '../../support/processes/process.ts';
import { HOST_ARGUMENTS } from '../../support/reading-plugin.ts';

const SCOPES = 'posts:read posts:write users:read';

/** An account, and how its owner reaches the service. */
export interface Person {
  readonly id: string;
  readonly email: string;
  readonly password: string;
  readonly key: string;
}

/** A migrated database with accounts, which each cluster copies. */
export interface People {
  readonly template: Template;
  readonly secretKey: string;
  readonly ada: Person;
  readonly grace: Person;
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly people: People;
  }
}

/** A program of the service, in a folder without a `.env`. */
export function programOf(file: string, args: readonly string[], cwd: string, settings: Settings): Command {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = environment({});
  return {
    file: process.execPath,
    args: [...HOST_ARGUMENTS, join(ROOT, file), ...args],
    cwd,
    env: { PATH, HOME, NODE_COMPILE_CACHE, ...settings },
  };
}

/** Runs an admin command. @returns the JSON that the command prints */
export const runAdmin = async <Printed>(
  args: readonly string[],
  cwd: string,
  settings: Settings,
): Promise<Printed> => JSON.parse(await run(programOf('src/admin/main.ts', args, cwd, settings)));

/** Makes the accounts before the first test, because commands take longer than the start of an instance. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { template } = project.getProvidedContext();
  if (template.kind === 'embedded') throw new Error('the instances of a cluster share a PostgreSQL');
  const server = new pg.Client({ connectionString: template.url });
  await server.connect();
  const name = `content_graph_compatibility_${process.pid}`;
  const drop = () => server.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  await drop();
  await server.query(`CREATE DATABASE ${name} TEMPLATE ${template.name}`);
  const url = new URL(template.url);
  url.pathname = `/${name}`;
  const secretKey = randomBytes(48).toString('base64');
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-people-'));
  const settings = { DATABASE_URL: url.href, DATA_DIR: folder, SECRET_KEY: secretKey };
  const person = async (first: string): Promise<Person> => {
    const [email, password] = [`${first.toLowerCase()}@example.com`, 'a password of the suite'];
    const account = ['--name', first, '--email', email, '--password', password];
    const { id } = await runAdmin<{ readonly id: string }>(['user', 'create', ...account], folder, settings);
    const permissions = ['--user', email, '--name', 'suite', '--scopes', SCOPES];
    const { key } = await runAdmin<{ readonly key: string }>(
      ['api-key', 'create', ...permissions],
      folder,
      settings,
    );
    return { id, email, password, key };
  };
  const [ada, grace] = await Promise.all([person('Ada'), person('Grace')]);
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  project.provide('people', { template: { ...template, name }, secretKey, ada, grace });
  return async () => {
    await drop();
    await server.end();
  };
}
