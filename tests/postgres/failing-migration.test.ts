import type pg from 'pg';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../support/processes/process.ts';
import { admin, launchServer, productionSettings } from '../support/processes/server.ts';
import { database, run, said } from '../support/processes/started.ts';

const FAILING = '20261127100000_restrictions';
const FORGET = `DELETE FROM _prisma_migrations WHERE migration_name = '${FAILING}'`;
const UNDO = `ALTER TABLE api_keys DROP COLUMN suspended_at CASCADE;
  DROP TABLE account_limits, address_blocks, client_uses; DROP FUNCTION restrictions_changed`;

/** What the server says to SQL that it rejects, in the language it speaks. */
const rejection = (url: string, sql: string): Promise<pg.DatabaseError> =>
  run(url, sql).then(
    () => expect.fail(`PostgreSQL has taken ${sql}`),
    (error: pg.DatabaseError) => error,
  );

it('a migration that fails is named with what PostgreSQL says, and has changed nothing; corrected, it is applied', async () => {
  const url = await database();
  const folder = await temporaryFolder();
  const settings = { DATABASE_URL: url };
  // Its first statement succeeds, and a later one cannot.
  await run(url, `${FORGET}; ALTER TABLE api_keys DROP COLUMN suspended_at CASCADE`);
  const { message } = await rejection(url, 'CREATE TABLE public.account_limits ()');
  const failed = await admin(['database', 'migrate'], folder, settings);
  expect(failed).toMatchObject({ code: 1, stdout: '' });
  expect(failed.stderr).toBe(
    `Migration ${FAILING} failed and was rolled back: it has changed nothing, and the running version continues. PostgreSQL says: ${message}. Correct what that names, and run it again.\n`,
  );
  expect(await rejection(url, 'SELECT suspended_at FROM api_keys')).toMatchObject({ code: '42703' });
  // An instance of this version is not ready, and says why.
  const server = launchServer(folder, { ...productionSettings(), ...settings });
  expect(await said(server, 'migrations.pending')).toMatchObject({ migrations: [FAILING] });
  server.kill('SIGTERM');

  await run(url, `ALTER TABLE api_keys ADD COLUMN suspended_at timestamptz; ${UNDO}`);
  const applied = await admin(['database', 'migrate'], folder, settings);
  expect(applied.json).toEqual({ applied: [FAILING] });
  expect(applied.code).toBe(0);
});
