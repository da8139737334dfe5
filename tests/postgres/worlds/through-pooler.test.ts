import { expect, it, onTestFinished } from 'vitest';
import { startApp } from '../../support/app.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { pgbouncer } from '../../support/database/pgbouncer.ts';
import { temporaryFolder } from '../../support/processes/process.ts';
import { run } from '../../support/processes/started.ts';
import { tour } from '../../support/tour.ts';

/** Everything at once that a server may set, with tables of the same names where its search path leads. */
const HARD = {
  TimeZone: 'America/New_York',
  DateStyle: 'SQL, DMY',
  IntervalStyle: 'sql_standard',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  array_nulls: 'off',
  standard_conforming_strings: 'off',
  transform_null_equals: 'on',
  exit_on_error: 'on',
  default_transaction_isolation: 'serializable',
  search_path: 'decoy',
};

async function toured(pooled: boolean): Promise<readonly string[]> {
  const { settings, drop } = await createTestDatabase({ world: HARD });
  onTestFinished(drop);
  const url = settings.DATABASE_URL ?? '';
  await run(
    url,
    'CREATE SCHEMA decoy; CREATE TABLE decoy.users (); CREATE TABLE decoy.posts (); CREATE TABLE decoy.events (); CREATE TABLE decoy.event_log ()',
  );
  const app = await startApp({
    settings: {
      DATA_DIR: await temporaryFolder(),
      ...(pooled ? { DATABASE_URL: await pgbouncer(url), DIRECT_DATABASE_URL: url } : { DATABASE_URL: url }),
    },
    drop: async () => undefined,
  });
  onTestFinished(() => app.stop());
  return tour(app);
}

it('a hard server changes no response, directly or through a pooler', async () => {
  const direct = await toured(false);
  expect(direct.filter((line) => /: 50\d /.test(line))).toEqual([]);
  expect(await toured(true)).toEqual(direct);
});
