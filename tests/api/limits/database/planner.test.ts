import { describe, expect, it } from 'vitest';
import { statement } from '../../../../src/database/statement.ts';
import { useApp } from '../../../support/app.ts';

const SETTINGS = statement<{ jit: string; bitmap: string }>(
  'planner_settings',
  `SELECT current_setting('jit') AS jit, current_setting('enable_bitmapscan') AS bitmap`,
);

describe('PostgreSQL plans lists in the order of their index', () => {
  const app = useApp();

  it('without JIT and without bitmap scans, in a transaction and outside of one', async () => {
    const { database } = app;
    const settings = { jit: 'off', bitmap: 'off' };
    expect(await database.query(SETTINGS, [])).toEqual([settings]);
    const unit = database.unitOfWork();
    expect(await unit.query(SETTINGS, [])).toEqual([settings]);
    await unit.rollback();
  });
});
