import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { admin, launchServer, productionSettings } from '../../support/processes/server.ts';
import { database, run } from '../../support/processes/started.ts';

/** A database of another encoding. */
async function encoded(encoding: string): Promise<string> {
  const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
  await client.connect();
  const name = `content_graph_test_${randomBytes(6).toString('hex')}`;
  await client.query(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING '${encoding}' LOCALE 'C'`);
  onTestFinished(async () => {
    await client.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await client.end();
  });
  return Object.assign(new URL(process.env.DATABASE_URL ?? ''), { pathname: name }).href;
}

/** A database with a setting that turns triggers off. */
async function replica(): Promise<string> {
  const url = await database();
  await run(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET session_replication_role = replica`);
  return url;
}

it.each([
  ['another encoding than UTF8', () => encoded('LATIN1'), /has the encoding LATIN1/],
  ['no encoding', () => encoded('SQL_ASCII'), /has the encoding SQL_ASCII/],
  ['triggers that are turned off', replica, /has session_replication_role = replica/],
])('a database with %s is rejected in one line', async (_what, make, reason) => {
  const url = await make();
  const rejection = expect.stringMatching(
    new RegExp(`^DATABASE_URL \\([^\\n]*\\) ${reason.source}[^\\n]*\\n$`),
  );
  for (const settings of [productionSettings(), { SECRET_KEY: 'x'.repeat(40) }]) {
    const server = launchServer('', { ...settings, DATABASE_URL: url });
    expect(await server.exited).toMatchObject({ code: 1, stderr: rejection });
  }
  expect(await admin(['user', 'list'], '', { DATABASE_URL: url })).toMatchObject({
    code: 1,
    stderr: rejection,
  });
});
