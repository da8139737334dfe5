import { describe, expect, it, onTestFinished } from 'vitest';
import { pgbouncer } from '../support/database/pgbouncer.ts';
import { expectOneLine } from '../support/processes/mistakes.ts';
import { admin, launchServer, productionSettings, startServer } from '../support/processes/server.ts';
import { database, run } from '../support/processes/started.ts';

const IGNORED = 'extra_float_digits, statement_timeout, idle_in_transaction_session_timeout';

/** What the service, `database migrate` and `doctor` say. */
async function expectAllSay(addresses: Readonly<Record<string, string>>, says: RegExp): Promise<void> {
  const settings = { ...productionSettings(), ...addresses };
  expectOneLine(await launchServer('', settings).exited, says);
  expectOneLine(await admin(['database', 'migrate'], '', settings), says);
  const { code, json } = await admin(['doctor'], '', settings);
  expect(code).toBe(1);
  expect(json).toContainEqual(
    expect.objectContaining({ check: 'database', status: 'error', finding: expect.stringMatching(says) }),
  );
}

const TO_DIRECT = /^DATABASE_URL \(.*pooler.*: set DIRECT_DATABASE_URL to the address of PostgreSQL itself/;

describe('DATABASE_URL of a pooler without DIRECT_DATABASE_URL', () => {
  it.each([
    ['as PgBouncer is set up by default', {}],
    ['that ignores settings of a session', { ignore_startup_parameters: IGNORED }],
    ['that has one session', { ignore_startup_parameters: IGNORED, default_pool_size: '1' }],
  ])('is rejected, and nothing is migrated: %s', async (_name, settings) => {
    const url = await database();
    await run(url, 'DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    await expectAllSay({ DATABASE_URL: await pgbouncer(url, onTestFinished, settings) }, TO_DIRECT);
    await run(
      url,
      `DO $$ BEGIN IF to_regclass('public._prisma_migrations') IS NOT NULL THEN RAISE 'migrated'; END IF; END $$`,
    );
  });

  it('is accepted where the pooler gives each connection its own session', async () => {
    const DATABASE_URL = await pgbouncer(await database(), onTestFinished, {
      ...{ pool_mode: 'session', ignore_startup_parameters: IGNORED },
    });
    const { origin } = await startServer('', { ...productionSettings(), DATABASE_URL });
    expect((await fetch(`${origin}/health/ready`)).status).toBe(200);
  });
});

it('DIRECT_DATABASE_URL of a pooler is rejected', async () => {
  const url = await database();
  const addresses = { DATABASE_URL: await pgbouncer(url), DIRECT_DATABASE_URL: `${await pgbouncer(url)}?` };
  await expectAllSay(addresses, /^DIRECT_DATABASE_URL \(.*pooler/);
});

it('A pooler in statement mode is rejected, because it knows no transactions', async () => {
  const url = await database();
  const addresses = {
    DATABASE_URL: await pgbouncer(url, onTestFinished, { pool_mode: 'statement' }),
    DIRECT_DATABASE_URL: url,
  };
  await expectAllSay(addresses, /^DATABASE_URL \(.*set pool_mode = transaction/);
});
