import { describe, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../src/platform/db/database.ts';
import { statement } from '../../src/platform/db/statement.ts';
import { createLogger } from '../../src/platform/log.ts';
import { type TestApp, useApp } from '../support/app.ts';
import { pgbouncer } from '../support/pgbouncer.ts';

const JIT = statement<{ jit: string }>('jit', `SELECT current_setting('jit') AS jit`);

async function pooled(app: TestApp) {
  const { database } = app.config;
  if (database.kind !== 'postgres') throw new Error('this needs PostgreSQL');
  return { ...app.config, database: { ...database, url: await pgbouncer(database.url) } };
}

describe('PostgreSQL compiles no statement to machine code', () => {
  const app = useApp();

  it.each([
    ['on a connection to it', async () => app.config],
    ['through a pooler', () => pooled(app)],
  ])('%s, in a transaction and outside of one', async (_way, configure) => {
    const log = createLogger({ level: 'error', pretty: false });
    const database = await openDatabase({ config: await configure(), log });
    onTestFinished(() => database.close());
    expect(await database.query(JIT, [])).toEqual([{ jit: 'off' }]);
    const unit = database.unitOfWork();
    expect(await unit.query(JIT, [])).toEqual([{ jit: 'off' }]);
    await unit.rollback();
  });
});
