import { expect, it, onTestFinished } from 'vitest';
import { watchDatabase } from '../../src/database/availability.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { linesOf } from '../support/log-lines.ts';
import { database } from '../support/processes/started.ts';

it('connections that break again and again fill no log, and each line has a reason', async () => {
  const logged: string[] = [];
  const log = createLogger({
    level: 'debug',
    pretty: false,
    destination: { write: (line) => void logged.push(line) },
  });
  const connection = { connectionString: await database() };
  const watch = watchDatabase({
    server: { setting: 'DATABASE_URL', connection, schema: undefined, hasSessions: true },
    isSupervised: false,
    log,
    onLook: () => undefined,
    isConnected: () => false,
    onWritable: () => undefined,
  });
  onTestFinished(() => watch.close());
  for (const error of [
    undefined,
    new AggregateError([new Error('reset')]),
    ...Array(10).fill(new Error('x')),
  ]) {
    watch.broke(error);
    expect(await watch.check()).toBe(true);
  }
  watch.close();
  const reasons = linesOf(logged, 'database.connection_lost').map(({ reason }) => reason);
  expect(reasons).toEqual(['the server ended the connection', 'reset', ...Array(8).fill('x')]);
  expect(linesOf(logged, 'log.suppressed')).toMatchObject([
    { subject: 'database.connection_lost', suppressedCount: 2 },
  ]);
});
