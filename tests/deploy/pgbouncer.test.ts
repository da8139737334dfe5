import { expect, it } from 'vitest';
import { pgbouncer } from '../support/database/pgbouncer.ts';
import { connect } from '../support/database/postgres.ts';
import { startOwnPostgres } from '../support/processes/own-postgres.ts';
import { temporaryFolder } from '../support/processes/process.ts';
import { admin, productionSettings, startServer } from '../support/processes/server.ts';

it('through the PgBouncer of deploy/, a restart of PostgreSQL costs the time until PostgreSQL is back', async () => {
  const postgres = await startOwnPostgres();
  const pooled = await pgbouncer(postgres.url);
  const folder = await temporaryFolder();
  const settings = { ...productionSettings(), DATABASE_URL: pooled, DIRECT_DATABASE_URL: postgres.url };
  expect(await admin(['database', 'migrate'], folder, settings)).toMatchObject({ code: 0 });
  const { origin } = await startServer(folder, settings);
  const status = async () => (await fetch(`${origin}/health/ready`)).status;
  await expect.poll(status).toBe(200);
  await postgres.stop();
  await expect.poll(status).toBe(503);
  await postgres.restart();
  await expect.poll(status).toBe(200);
});

it('the PgBouncer of deploy/ tries again one second after it could not connect to PostgreSQL', async () => {
  const console = new URL(await pgbouncer('postgres://pgbouncer@127.0.0.1:1/pgbouncer'));
  const client = await connect(console.href);
  const { rows } = await client.query('SHOW CONFIG');
  const { key, value } = rows.find((row) => row.key === 'server_login_retry');
  expect({ key, value }).toEqual({ key: 'server_login_retry', value: '1' });
});
