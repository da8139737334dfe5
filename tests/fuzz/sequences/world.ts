import { type App, createApp } from '../../../src/app/create-app.ts';
import { type Database, openDatabase } from '../../../src/database/database.ts';
import { type Config, loadConfig } from '../../../src/platform/config/config.ts';
import { systemClock } from '../../../src/platform/deadline.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import { openCuttingProxy } from '../../support/database/cutting-proxy.ts';
import { openStallingProxy } from '../../support/database/stalling-proxy.ts';
import { catchUp, createIndexer } from '../../support/search.ts';
import { AMPLE_TIMEOUTS } from '../../support/settings.ts';
import type { Limits } from './limits.ts';

export const ORIGIN = 'http://127.0.0.1:4000';
export const MAX_STREAMS_PER_CLIENT = 4;
const ACCOUNT_FACTOR = 2;
const BURST = 30;
const LOG_LINES = 200;
/** So that searches of a long run walk through several buckets of the index, and few enough for one page. */
const BUCKET_POSTS = 256;

/** The settings that name a migrated database which nobody else uses, and a Redis where there is one. */
export type Place = Readonly<Record<string, string>>;

type DatabaseProxy = Awaited<ReturnType<typeof openCuttingProxy>>;
type StallProxy = Awaited<ReturnType<typeof openStallingProxy>>;

/** Two instances on one database. */
export interface World {
  readonly instances: readonly { readonly fetch: (path: string, init?: RequestInit) => Promise<Response> }[];
  /** A way to the database that nothing disturbs. */
  readonly database: Database;
  readonly limits: Limits;
  /** What stands between the second instance and PostgreSQL. */
  readonly wire: { readonly commits: DatabaseProxy; readonly all: StallProxy } | undefined;
  readonly redisWire: StallProxy | undefined;
  /** Of each instance, how often it has said that Redis does not answer, and whether that still holds. */
  readonly redis: readonly { readonly outages: number; readonly down: boolean }[];
  /** The last lines that the instances have logged. */
  readonly logged: readonly string[];
  /** Lets time pass on both. It stands still otherwise where buckets are the instances' own. */
  pass(ms: number): void;
  /** Has the search index follow all that is committed. */
  index(): Promise<void>;
  /** Sets the time of day of one. */
  setClock(instance: number, hours: number): void;
  close(): Promise<void>;
}

/** Timeouts that a connection reaches when a storm stalls it. */
const STORM_TIMEOUTS = { STATEMENT_TIMEOUT_MS: '5000', OPERATION_TIMEOUT_MS: '10000' };

export async function openWorld(place: Place, storms: boolean): Promise<World> {
  const { REDIS_URL: redisUrl, ...database } = place;
  const closing: (() => unknown)[] = [];
  const shared = redisUrl !== undefined;
  // Where Redis has a clock of its own it fills next to nothing meanwhile.
  const perSecond = shared ? 1 : 5;
  const settings = {
    NODE_ENV: 'test',
    ...AMPLE_TIMEOUTS,
    RATE_LIMIT_BURST: String(BURST),
    RATE_LIMIT_PER_SECOND: String(perSecond),
    ACCOUNT_RATE_LIMIT_FACTOR: String(ACCOUNT_FACTOR),
    AUTH_FAILURE_BURST: '1000000',
    MAX_STREAMS_PER_CLIENT: String(MAX_STREAMS_PER_CLIENT),
    CREDENTIAL_RECHECK_MS: '100',
    ...database,
  };
  const logged: string[] = [];
  const redis = [0, 1].map(() => ({ outages: 0, down: false }));
  const logs = redis.map((state) => {
    const write = (line: string) => {
      logged.push(line);
      if (logged.length > LOG_LINES) logged.shift();
      // A busy machine takes too long for Redis without any fault. The metric is of no use: the clock stands still.
      if (line.includes('redis.unavailable'))
        Object.assign(state, { outages: state.outages + 1, down: true });
      if (line.includes('redis.recovered')) state.down = false;
    };
    return createLogger({ level: 'info', pretty: false, destination: { write } });
  });
  const redisWire = redisUrl === undefined ? undefined : await openStallingProxy(redisUrl);
  if (redisWire !== undefined) closing.push(redisWire.close);
  const configs: Config[] = [redisUrl, redisWire?.url].map((url, index) =>
    loadConfig({
      ...settings,
      ...(storms && index === 1 ? STORM_TIMEOUTS : {}),
      ...(url === undefined ? {} : { REDIS_URL: url }),
    }),
  );
  const [first, second] = configs;
  const [log, secondLog] = logs;
  if (first === undefined || second === undefined || log === undefined || secondLog === undefined)
    throw new Error('two instances have two settings');

  const own = await openDatabase({ config: first, log });
  closing.unshift(() => own.close());
  let wire: World['wire'];
  let other = own;
  let secondConfig = second;
  if (second.database.kind === 'postgres') {
    const commits = await openCuttingProxy(second.database.url);
    const all = await openStallingProxy(commits.url);
    closing.push(all.close, commits.close);
    wire = { commits, all };
    const behind = { ...second.database, url: all.url, directUrl: all.url };
    secondConfig = { ...second, database: behind };
    other = await openDatabase({ config: secondConfig, log: secondLog });
    const pool = other;
    closing.unshift(() => pool.close());
  }

  const indexer = createIndexer({ database: own }, { bucketPosts: BUCKET_POSTS });
  const offsets = [0, 0];
  const start = systemClock.elapsedMs();
  let passed = start;
  const apps: App[] = [first, secondConfig].map((config, index) =>
    createApp({
      config,
      database: index === 0 ? own : other,
      log: index === 0 ? log : secondLog,
      clock: { now: () => systemClock.now() + (offsets[index] ?? 0), elapsedMs: () => passed },
    }),
  );
  for (const app of apps) closing.unshift(() => app.close());
  return {
    instances: apps.map((app) => ({
      fetch: (path, init) => app.fetch(new Request(new URL(path, ORIGIN), init)),
    })),
    database: own,
    limits: { burst: BURST, perSecond, accountFactor: ACCOUNT_FACTOR, shared },
    wire,
    redisWire,
    redis,
    logged,
    index: () => catchUp({ database: own }, indexer),
    pass(ms) {
      passed += ms;
    },
    setClock(instance, hours) {
      offsets[instance] = hours * 3_600_000;
    },
    async close() {
      for (const step of closing) await step();
    },
  };
}
