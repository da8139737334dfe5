import { describe, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { statement } from '../../src/database/statement.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { useApp } from '../support/app.ts';
import { pgbouncer } from '../support/database/pgbouncer.ts';
import { postgresOf } from '../support/database/postgres.ts';

const SETTINGS = statement<{ jit: string; bitmap: string }>(
  'planner_settings',
  `SELECT current_setting('jit') AS jit, current_setting('enable_bitmapscan') AS bitmap`,
);

describe('PostgreSQL plans lists in the order of their index, without JIT and without bitmap scans', () => {
  const app = useApp();

  it.each([
    ['directly', async (url: string) => url],
    ['through a connection pooler', (url: string) => pgbouncer(url)],
  ])('%s, in a transaction and outside of one', async (_way, urlOf) => {
    const own = postgresOf(app);
    const config = { ...app.config, database: { ...own, url: await urlOf(own.url) } };
    const log = createLogger({ level: 'error', pretty: false });
    const database = await openDatabase({ config, log });
    onTestFinished(() => database.close());
    const settings = { jit: 'off', bitmap: 'off' };
    expect(await database.query(SETTINGS, [])).toEqual([settings]);
    const unit = database.unitOfWork();
    expect(await unit.query(SETTINGS, [])).toEqual([settings]);
    await unit.rollback();
  });
});
