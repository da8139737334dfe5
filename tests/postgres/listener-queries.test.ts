import { expect, it, onTestFinished } from 'vitest';
import { createListener } from '../../src/database/listener.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { useApp } from '../support/app.ts';

const app = useApp();

it('the connection for notifications gets one query at a time', async () => {
  const warnings: string[] = [];
  const keep = ({ message }: Error) => void warnings.push(message);
  process.on('warning', keep);
  onTestFinished(() => void process.off('warning', keep));
  const connected = Promise.withResolvers<void>();
  const listener = createListener({
    database: app.database,
    log: createLogger({ level: 'error', pretty: false }),
    channels: [],
    onNotification: () => undefined,
    onConnect: connected.resolve,
  });
  onTestFinished(listener.close);
  await connected.promise;
  const asked = [1, 2, 3].map((number) => listener.ask<{ number: number }>(`SELECT ${number} AS number`));
  const failed = listener.ask('SELECT nothing');
  const last = listener.ask<{ number: number }>('SELECT 4 AS number');
  await expect(failed).rejects.toThrow('nothing');
  expect(await Promise.all([...asked, last])).toEqual([1, 2, 3, 4].map((number) => [{ number }]));
  // pg warns once per process, when a query is sent while two others wait.
  await new Promise(setImmediate);
  expect(warnings.filter((warning) => warning.includes('already executing'))).toEqual([]);
});
