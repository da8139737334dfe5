import { once } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import { type AddressInfo, createServer } from 'node:net';
import timers from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { watchDatabase } from '../../../src/database/availability.ts';
import { createLogger } from '../../../src/platform/log/log.ts';

/** The port of a server that ends every connection, and so cannot be reached as a database. */
async function portOfDeadServer(): Promise<number> {
  const server = createServer((socket) => void socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Ends every pause of `node:timers/promises` in the next turn. `take` returns how long all pauses since the last call were to last. */
function shortenPauses(): { take(): number } {
  let pausedMs = 0;
  const spy = vi.spyOn(timers, 'setTimeout').mockImplementation(async (milliseconds = 0, value) => {
    pausedMs += milliseconds;
    await timers.setImmediate();
    return value as never;
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
  return {
    take() {
      const taken = pausedMs;
      pausedMs = 0;
      return taken;
    },
  };
}

it('A database that cannot be reached is tried again at least every 2 s, however long the outage lasts', async () => {
  const port = await portOfDeadServer();
  const pauses = shortenPauses();
  const waitsMs: number[] = [];
  const watch = watchDatabase({
    server: {
      setting: 'DATABASE_URL',
      connection: { host: '127.0.0.1', port },
      schema: undefined,
      hasSessions: true,
    },
    isSupervised: false,
    log: createLogger({ level: 'silent', pretty: false }),
    onLook: () => void waitsMs.push(pauses.take()),
    isConnected: () => false,
    onWritable: () => undefined,
  });
  onTestFinished(() => watch.close());
  expect(await watch.check()).toBe(false);
  await expect.poll(() => waitsMs.length).toBeGreaterThan(30);
  expect(Math.max(...waitsMs)).toBeLessThanOrEqual(2_000);
});
