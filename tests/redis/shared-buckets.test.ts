import { describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../src/app/create-app.ts';
import { createAccount } from '../../src/auth/accounts.ts';
import { loadConfig } from '../../src/platform/config/config.ts';
import { systemClock } from '../../src/platform/deadline.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { ORIGIN, type TestApp, useApp } from '../support/app.ts';
import { login, PASSWORD } from '../support/credentials/session.ts';
import { stallingProxy } from '../support/database/stalling-proxy.ts';
import { graphqlPost } from '../support/graphql.ts';
import { readMetric } from '../support/metrics.ts';
import { AMPLE_TIMEOUTS } from '../support/settings.ts';
import { holdTimersInTest, stopTimeInTest } from '../support/time/timers.ts';

const REDIS_URL = process.env.REDIS_URL ?? '';
const QUERY = '{ __typename }';
const LIMIT_MS = 100;
const BACK_OFF_MS = 1_000;
const SILENCE_MS = 3_000;
const times = (count: number) => Array.from({ length: count }, (_, index) => index);

const app = useApp();

/** Has instances wait for Redis without a limit from now on: a busy machine is not a lost Redis. */
const holdLimits = () => holdTimersInTest(LIMIT_MS);

/** An instance on the database of the file, with settings and a log of its own. */
function instance(settings: Record<string, string>) {
  const { database, config } = app;
  const logged: string[] = [];
  const log = createLogger({
    level: 'info',
    pretty: false,
    destination: { write: (line) => void logged.push(line) },
  });
  const own = loadConfig({ NODE_ENV: 'test', ...AMPLE_TIMEOUTS, ...settings });
  const started = createApp({
    config: { ...own, database: config.database },
    database,
    log,
    clock: systemClock,
  });
  onTestFinished(() => started.close());
  const fetch: TestApp['fetch'] = (path, init) => started.fetch(new Request(new URL(path, ORIGIN), init));
  const ask = async (key: string) => {
    const response = await fetch('/graphql', graphqlPost(QUERY, { key }));
    const remaining = Number(response.headers.get('x-ratelimit-remaining'));
    await response.text();
    return { status: response.status, remaining };
  };
  const redisUp = () => readMetric({ fetch }, 'content_graph_rate_limit_redis_up');
  /** A connection that is only being made is not waited for: what comes before it is counted here. */
  const connected = async () => {
    const { key } = await app.account();
    await expect.poll(async () => [(await ask(key)).status, await redisUp()]).toEqual([200, 1]);
    logged.length = 0;
  };
  const said = (pattern: RegExp) => logged.filter((line) => pattern.test(line)).length;
  return { fetch, ask, said, redisUp, connected };
}

const word = () => Math.floor(Math.random() * 0x10000).toString(16);
const anyAddress = () => `2001:db8:${word()}:${word()}::1`;

/** Two instances that reject credentials after some failures. */
async function limitedInstances(failures: number) {
  const settings = {
    REDIS_URL,
    AUTH_FAILURE_BURST: String(failures),
    AUTH_FAILURE_REFILL_SECONDS: '3600',
    TRUST_PROXY: '127.0.0.1',
  };
  const instances = [instance(settings), instance(settings)] as const;
  await Promise.all(instances.map(({ connected }) => connected()));
  holdLimits();
  return instances;
}

const LOST = /redis\.unavailable/;
const BACK = /redis\.recovered/;

describe('a Redis that rejects the password', () => {
  it('is logged without it', async () => {
    const { hostname, port } = new URL(REDIS_URL);
    const password = 'hunter2-of-this-test';
    const rejected = instance({ REDIS_URL: `redis://nobody:${password}@${hostname}:${port || '6379'}` });
    await expect.poll(() => rejected.said(/WRONGPASS/)).toBeGreaterThan(0);
    expect(rejected.said(new RegExp(password))).toBe(0);
  });
});

describe('two instances on one Redis', () => {
  it('share one bucket: 1,000 requests get burst + refill × t, one more or less; another client notices nothing', async () => {
    const settings = { REDIS_URL, RATE_LIMIT_BURST: '200', RATE_LIMIT_PER_SECOND: '2' };
    const [first, second] = [instance(settings), instance(settings)];
    const [client, other] = [await app.account(), await app.account()];
    await Promise.all([first.connected(), second.connected()]);
    holdLimits();
    // Both know the key.
    await Promise.all([first.ask(other.key), second.ask(other.key)]);
    const tokensSince = (ms: number) => ((performance.now() - ms) * 2) / 1000;
    const beganMs = performance.now();
    let [allowed, leastRefilled, firstDoneMs] = [0, 0, beganMs];
    for (const round of times(20)) {
      leastRefilled = tokensSince(firstDoneMs);
      const responses = await Promise.all(
        times(50).map((i) => (i % 2 === 0 ? first : second).ask(client.key)),
      );
      allowed += responses.filter(({ status }) => status !== 429).length;
      if (round === 0) firstDoneMs = performance.now();
    }
    const mostRefilled = tokensSince(beganMs);
    const othersLeft = (await second.ask(other.key)).remaining;
    expect(first.said(LOST) + second.said(LOST)).toBe(0);
    expect(allowed).toBeGreaterThanOrEqual(200 + Math.floor(leastRefilled) - 1);
    expect(allowed).toBeLessThanOrEqual(200 + Math.ceil(mostRefilled) + 1);
    expect(othersLeft).toBeGreaterThanOrEqual(197);
    expect(await first.redisUp()).toBe(1);
  });

  it('count failed credentials together', async () => {
    const instances = await limitedInstances(4);
    const address = anyAddress();
    const statuses: number[] = [];
    for (const i of times(6)) {
      const response = await instances[i % 2 === 0 ? 0 : 1].fetch('/graphql', {
        method: 'POST',
        body: '{}',
        headers: { authorization: 'Bearer wrong', 'x-forwarded-for': address },
      });
      statuses.push(response.status);
    }
    expect(statuses).toEqual([401, 401, 401, 401, 429, 429]);
  });
});

describe('failed logins of two instances', () => {
  it('count for the address and the account together, or for neither', async () => {
    const instances = await limitedInstances(3);
    // The bucket is the e-mail's, which Redis may know from another run.
    const someone = async () => {
      const email = `${word()}-${word()}-${word()}@example.com`;
      await createAccount(app.database, { name: 'Ada', email, password: PASSWORD, role: 'member' });
      return email;
    };
    const [alice, bob] = [await someone(), await someone()];
    const attempt = async (i: number, from: string, email: string, password: string) => {
      const [chosen, headers] = [instances[i % 2 === 0 ? 0 : 1], { 'x-forwarded-for': from }];
      return (await login(chosen, { email, password }, headers)).status;
    };
    const statuses = async (count: number, from: () => string, email: string, password: string) => {
      const found: number[] = [];
      for (const i of times(count)) found.push(await attempt(i, from(), email, password));
      return found;
    };
    const office = anyAddress();
    expect(await statuses(5, anyAddress, alice, 'wrong')).toEqual([401, 401, 401, 429, 429]);
    expect(await statuses(6, () => office, alice, PASSWORD)).toEqual([429, 429, 429, 429, 429, 429]);
    // What did not fail is given back to both.
    expect(await statuses(4, () => office, bob, PASSWORD)).toEqual([200, 200, 200, 200]);
    expect(await statuses(4, () => office, bob, 'wrong')).toEqual([401, 401, 401, 429]);
    for (const { said } of instances) expect(said(LOST)).toBe(0);
  });
});

describe('a Redis that does not answer', () => {
  const limits = { RATE_LIMIT_BURST: '50', RATE_LIMIT_PER_SECOND: '0.001' };

  /** An instance for which time does not pass by itself: it neither gives up waiting for Redis nor tries again. */
  async function behindProxy() {
    const proxy = await stallingProxy(REDIS_URL);
    const service = instance({ REDIS_URL: proxy.url, ...limits });
    await service.connected();
    const passTime = stopTimeInTest();
    const timers = holdLimits();
    const { key } = await app.account();
    expect(await service.ask(key)).toEqual({ status: 200, remaining: 49 });
    expect(await service.redisUp()).toBe(1);
    /** Asks so many times at once, and lets the limit for Redis pass. */
    const askInVain = async (count: number) => {
      const responses = times(count).map(() => service.ask(key));
      await expect.poll(() => timers.count(LIMIT_MS)).toBe(1);
      timers.fire(LIMIT_MS);
      return Promise.all(responses);
    };
    return { proxy, service, key, timers, passTime, askInVain };
  }

  async function expectRecovery({ service, key }: Awaited<ReturnType<typeof behindProxy>>) {
    holdLimits();
    // The bucket is the shared one again.
    expect((await service.ask(key)).remaining).toBeLessThan(49);
    expect(await service.redisUp()).toBe(1);
    expect([service.said(BACK), service.said(LOST)]).toEqual([1, 1]);
  }

  it('is done without within a moment, which the log says once and the metrics all the while', async () => {
    const context = await behindProxy();
    const { proxy, service, key, passTime, askInVain } = context;
    proxy.stall();
    expect(await askInVain(1)).toEqual([{ status: 200, remaining: 49 }]);
    for (const _ of times(10)) expect((await service.ask(key)).status).toBe(200);
    expect(service.said(LOST)).toBe(1);
    expect(await service.redisUp()).toBe(0);
    proxy.restore();
    passTime(BACK_OFF_MS);
    await expectRecovery(context);
  });

  it('costs no more than that moment when many ask at once', async () => {
    const { proxy, service, askInVain } = await behindProxy();
    proxy.stall();
    const responses = await askInVain(40);
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(40);
    expect(service.said(LOST)).toBe(1);
  });

  it('keeps its limits meanwhile, with a bucket of the instance', async () => {
    const { proxy, service, key, timers } = await behindProxy();
    timers.release();
    proxy.cut();
    const responses = [];
    for (const _ of times(60)) responses.push(await service.ask(key));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(50);
    proxy.restore();
  });

  it('is come back to when it was gone', async () => {
    const context = await behindProxy();
    const { proxy, service, key, timers } = context;
    timers.release();
    proxy.cut();
    await service.ask(key);
    expect(await service.redisUp()).toBe(0);
    proxy.restore();
    await expect.poll(() => service.said(BACK)).toBe(1);
    await expectRecovery(context);
  });

  it('is come back to over a new connection when the old one stays silent', async () => {
    const context = await behindProxy();
    const { proxy, service, timers, askInVain } = context;
    proxy.silence();
    await askInVain(1);
    expect(await service.redisUp()).toBe(0);
    timers.release();
    timers.fire(SILENCE_MS);
    await expect.poll(() => service.said(BACK)).toBe(1);
    await expectRecovery(context);
  });

  it('lets logins that succeed use up nothing', async () => {
    const service = instance({
      REDIS_URL: 'redis://127.0.0.1:1',
      AUTH_FAILURE_BURST: '2',
      AUTH_FAILURE_REFILL_SECONDS: '3600',
    });
    const email = `${word()}-${word()}-${word()}@example.com`;
    await createAccount(app.database, { name: 'Ada', email, password: PASSWORD, role: 'member' });
    const statuses: number[] = [];
    for (const _ of times(4)) statuses.push((await login(service, { email, password: PASSWORD })).status);
    expect(statuses).toEqual([200, 200, 200, 200]);
    expect(await service.redisUp()).toBe(0);
  });

  it('does not keep the service from starting', async () => {
    stopTimeInTest();
    const service = instance({ REDIS_URL: 'redis://127.0.0.1:1', ...limits });
    const { key } = await app.account();
    expect(await service.ask(key)).toEqual({ status: 200, remaining: 49 });
    expect(await service.redisUp()).toBe(0);
    expect(service.said(LOST)).toBe(1);
  });
});
