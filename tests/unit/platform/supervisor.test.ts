import { describe, expect, it } from 'vitest';
import { type Running, supervise } from '../../../src/database/embedded/supervisor.ts';
import { createLogger } from '../../../src/platform/log/log.ts';

const log = createLogger({ level: 'silent', pretty: false });

/** Starts that the test decides on, pauses that it ends, and the most that ever ran at a time. */
function stage() {
  let broken = false;
  let running = 0;
  const seen = { starts: 0, atOnce: 0, pauses: [] as number[] };
  let crash = (): void => undefined;
  let fail = (): void => undefined;
  let goOn = (): void => undefined;
  const start = async (): Promise<Running> => {
    seen.starts += 1;
    if (broken) throw new Error('the disk is full');
    running += 1;
    seen.atOnce = Math.max(seen.atOnce, running);
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const end = async () => {
      running -= 1;
      resolve();
    };
    crash = () => void end();
    const { promise: failed, resolve: failing } = Promise.withResolvers<void>();
    fail = failing;
    return { ending: Promise.race([failed, ended]), ended, terminate: end, close: end };
  };
  const pause = (ms: number, signal: AbortSignal) => {
    seen.pauses.push(ms);
    const { promise, resolve } = Promise.withResolvers<void>();
    goOn = resolve;
    signal.addEventListener('abort', () => resolve());
    return promise;
  };
  return {
    seen,
    start,
    pause,
    break: () => {
      broken = true;
    },
    mend: () => {
      broken = false;
    },
    /** It is about to crash. */
    fail: () => fail(),
    crash: () => crash(),
    goOn: () => goOn(),
    running: () => running,
  };
}

describe('an embedded database that ends', () => {
  it('is started again at once, and whoever needs it waits for that', async () => {
    const on = stage();
    const supervisor = await supervise({ ...on, log });
    on.crash();
    await supervisor.ready();
    await expect.poll(on.running).toBe(1);
    await supervisor.restart('a test');
    expect(on.seen).toMatchObject({ starts: 3, atOnce: 1, pauses: [] });
    await supervisor.close();
    expect(on.running()).toBe(0);
  });

  it('is waited for as soon as it is about to, and started again only once it has', async () => {
    const on = stage();
    const supervisor = await supervise({ ...on, log });
    on.fail();
    await new Promise(setImmediate);
    let ready = false;
    const waited = supervisor.ready().then(() => {
      ready = true;
    });
    await new Promise(setImmediate);
    expect({ ready, starts: on.seen.starts }).toEqual({ ready: false, starts: 1 });
    on.crash();
    await waited;
    expect(on.seen).toMatchObject({ starts: 2, atOnce: 1 });
    await supervisor.close();
  });

  it('and cannot start is tried ever more slowly, while whoever needs it is told at once', async () => {
    const on = stage();
    const supervisor = await supervise({ ...on, log });
    on.break();
    await expect(supervisor.restart('a test')).rejects.toThrow('the disk is full');
    for (let tries = 1; tries <= 12; tries += 1) {
      await expect.poll(() => on.seen.pauses.length).toBe(tries);
      // It is in its pause, which ends only when told to.
      await expect(supervisor.ready()).rejects.toThrow('the disk is full');
      await expect(supervisor.restart('another')).rejects.toThrow('the disk is full');
      on.goOn();
    }
    await expect.poll(() => on.seen.pauses.length).toBe(13);
    expect(on.seen.pauses.slice(0, 4)).toEqual([100, 200, 400, 800]);
    expect(Math.max(...on.seen.pauses)).toBe(30_000);
    expect(on.seen.starts).toBe(14);

    on.mend();
    on.goOn();
    await expect.poll(on.running).toBe(1);
    await supervisor.ready();
    await supervisor.close();
  });

  it('and cannot start as the process does is not tried again', async () => {
    const on = stage();
    on.break();
    await expect(supervise({ ...on, log })).rejects.toThrow('the disk is full');
    expect(on.seen).toMatchObject({ starts: 1, pauses: [] });
  });

  it('is left alone once it is closed, also in the middle of its pause', async () => {
    const on = stage();
    const supervisor = await supervise({ ...on, log });
    on.break();
    on.crash();
    await expect.poll(() => on.seen.pauses.length).toBe(1);
    on.mend();
    await supervisor.close();
    expect(on.seen.starts).toBe(2);
    expect(on.running()).toBe(0);
  });
});
