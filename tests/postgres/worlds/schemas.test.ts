import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startApp, type TestApp } from '../../support/app.ts';
import { pgbouncer } from '../../support/database/pgbouncer.ts';
import { temporaryFolder } from '../../support/processes/process.ts';
import { admin, launchServer, productionSettings, startServer } from '../../support/processes/server.ts';
import { database, run } from '../../support/processes/started.ts';
import { tour } from '../../support/tour.ts';

/** What a user has to know to be one. */
const USER = ['user', 'create', '--name', 'Ada', '--email', 'ada@example.com', '--password-stdin'];
const PASSWORD = 'correct horse battery staple';

/** A database with one installation in `public`, and another one in `app`. */
async function twoInstallations(): Promise<{ url: string; inApp: string; name: string }> {
  const url = await database();
  const inApp = `${url}?schema=app`;
  const { code, stderr } = await admin(['database', 'migrate'], '', { DATABASE_URL: inApp });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return { url, inApp, name: new URL(url).pathname.slice(1) };
}

async function counts(url: string, schema: string): Promise<Record<string, number>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const found: Record<string, number> = {};
  for (const table of 'users posts tags comments events api_keys sessions idempotency_keys'.split(' ')) {
    const { rows } = await client.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM ${schema}.${table}`,
    );
    found[table] = rows[0]?.count ?? -1;
  }
  await client.end();
  return found;
}

const NONE = {
  users: 0,
  posts: 0,
  tags: 0,
  comments: 0,
  events: 0,
  api_keys: 0,
  sessions: 0,
  idempotency_keys: 0,
};

async function started(settings: Readonly<Record<string, string>>): Promise<TestApp> {
  const DATA_DIR = await temporaryFolder();
  const app = await startApp({ settings: { ...settings, DATA_DIR }, drop: async () => undefined });
  onTestFinished(() => app.stop());
  return app;
}

describe('An installation in a schema of its own', () => {
  it.each([
    ['directly', async (url: string) => ({ DATABASE_URL: url })],
    [
      'through a pooler',
      async (url: string) => ({
        DATABASE_URL: (await pgbouncer(url.split('?')[0] ?? '')) + new URL(url).search,
        DIRECT_DATABASE_URL: url,
      }),
    ],
  ])('is as good as one in public, and touches nothing in it: %s', async (_how, settingsOf) => {
    const { url, inApp } = await twoInstallations();
    const expected = await tour(await started(await settingsOf(url)));
    const inPublic = await counts(url, 'public');
    expect(inPublic).toMatchObject({ users: 1, posts: 1, events: 7 });
    expect(await counts(url, 'app')).toEqual(NONE);
    expect(await tour(await started(await settingsOf(inApp)))).toEqual(expected);
    expect(await counts(url, 'public')).toEqual(inPublic);
    expect(await counts(url, 'app')).toEqual(inPublic);
  });

  it('is administered there, whatever the search path', async () => {
    const { url, inApp, name } = await twoInstallations();
    for (const path of ['public', 'app', 'app, public', 'nowhere']) {
      await run(url, `ALTER DATABASE ${name} SET search_path = ${path}; DELETE FROM app.users`);
      expect(await admin(USER, '', { DATABASE_URL: inApp }, PASSWORD)).toMatchObject({ code: 0, stderr: '' });
      expect(await counts(url, 'public')).toEqual(NONE);
      expect(await counts(url, 'app')).toMatchObject({ users: 1 });
    }
  });

  it('is not guessed at: a search path that leads to it without ?schema is rejected in one line', async () => {
    const { url, name } = await twoInstallations();
    await run(url, `ALTER DATABASE ${name} SET search_path = app, public`);
    const server = launchServer('', { ...productionSettings(), DATABASE_URL: url });
    const rejection =
      /^DATABASE_URL \([^\n]*\) has a search path that leads to the schema "app"[^\n]*\?schema=app[^\n]*\n$/;
    expect(await server.exited).toMatchObject({ code: 1, stderr: expect.stringMatching(rejection) });
    expect(await admin(USER, '', { DATABASE_URL: url }, PASSWORD)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(rejection),
    });
    const settings = { DATABASE_URL: `${url}?schema=public` };
    expect(await admin(USER, '', settings, PASSWORD)).toMatchObject({ code: 0, stderr: '' });
    expect(await counts(url, 'public')).toMatchObject({ users: 1 });
  });

  it('is named the same by both addresses', async () => {
    const { url, inApp } = await twoInstallations();
    const server = launchServer('', {
      ...productionSettings(),
      DATABASE_URL: inApp,
      DIRECT_DATABASE_URL: `${url}?schema=public`,
    });
    const { code, stderr } = await server.exited;
    expect(code).toBe(1);
    expect(stderr).toContain(
      'DIRECT_DATABASE_URL must name the same schema as DATABASE_URL, but names "public".',
    );
  });

  it('may have a name that has to be quoted, and is made by the migration', async () => {
    const url = await database();
    const named = `${url}?schema=${encodeURIComponent('Our "own", schema')}`;
    const server = await startServer('', { DATABASE_URL: named, SECRET_KEY: 'x'.repeat(40) });
    expect((await fetch(`${server.origin}/health/ready`)).status).toBe(200);
    server.kill('SIGTERM');
    expect((await server.exited).code).toBe(0);
    expect(await counts(url, '"Our ""own"", schema"')).toEqual(NONE);
  });
});
