/**
 * Runs PostgreSQL, Redis, three instances and nginx with HTTP/2 on free loopback ports and in a temporary folder, under a
 * mixed load with subscribers. The demo replaces every instance in turn, then kills one. It prints what that cost, fails
 * if anything was lost or done twice, and removes everything. With `--old`, the instances first run another version, and
 * the migrations of this version run while the old instances serve. With `--back`, they go back to it at the end.
 */
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readArguments } from '../src/platform/process.ts';
import { createKey, postsIn } from './cluster/account.ts';
import { Http2Client } from './cluster/http2-client.ts';
import { Instance } from './cluster/instances.ts';
import { MixedLoad, type Outcome } from './cluster/load.ts';
import { migrateCheckout } from './cluster/migrate-command.ts';
import { readShippedConfiguration, startNginx } from './cluster/nginx.ts';
import { prepareOldVersion } from './cluster/old-version.ts';
import { freePorts, type Service, SetupError, until } from './cluster/processes.ts';
import { findPostgres, findRedis, startPostgres, startRedis } from './cluster/programs.ts';
import { deliveriesOf, failuresIn, latencyTable, mixOf, type Phase } from './cluster/report.ts';
import { kill, roll, seconds } from './cluster/rollout.ts';
import { Subscriber } from './cluster/subscriber.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Only ends a demo that hangs. */
const LIMIT_MS = 900_000;
/** nginx may take that long to see that an instance is gone, besides the time for which the machine is too busy. */
const NOTICED_MS = 250;
const STREAMS_A_CONNECTION = 50;
/** Everything else has long been delivered then. */
const LAST_EVENTS_MS = 120_000;

const HELP = `npm run demo:cluster [-- --seconds N] [--subscribers N] [--rate N] [--old COMMIT|FOLDER [--back]]

Three instances behind nginx with HTTP/2, on a temporary PostgreSQL and Redis: a rolling restart and a SIGKILL under load.
  --seconds N      of load, 60 without it
  --subscribers N  streams, 500 without it
  --rate N         mutations a second, 60 without it
  --old COMMIT     the version that is replaced: a commit, "released" for the last release, or a folder with a checkout
  --back           at the end, the instances go back to the old version
`;
const given = readArguments(HELP, {
  seconds: { type: 'string', default: '60' },
  subscribers: { type: 'string', default: '500' },
  rate: { type: 'string', default: '60' },
  old: { type: 'string' },
  back: { type: 'boolean', default: false },
});
const SECONDS = Number(given.seconds);
const SUBSCRIBERS = Number(given.subscribers);
const RATE = Number(given.rate);

const say = (text: string) => void process.stdout.write(`${text}\n`);

/** Fails with all that was not as promised. */
function judge(mistakes: readonly (string | false)[]): void {
  const made = mistakes.filter((mistake) => mistake !== false);
  if (made.length > 0) throw new SetupError(`Not as promised:\n${made.map((it) => `- ${it}`).join('\n')}`);
}

const reasons = (failed: readonly Outcome[]) =>
  [...new Set(failed.map(({ kind, failure }) => `${kind}: ${failure}`))].slice(0, 5).join('; ');

async function demonstrate(
  folder: string,
  services: Pick<Service, 'stop'>[],
  signal: AbortSignal,
  old: string,
): Promise<void> {
  const [postgresBin, redisFile] = [findPostgres(), findRedis()];
  const [databasePort = 0, redisPort = 0, proxyPort = 0, ...ports] = await freePorts(6);

  const database = await startPostgres(postgresBin, { folder, port: databasePort, signal });
  services.push(database.service);
  const redis = await startRedis(redisFile, { folder, port: redisPort, signal });
  services.push(redis.service);
  const configuration = readShippedConfiguration({
    port: proxyPort,
    instances: ports.map((port) => `127.0.0.1:${port}`),
  });
  const proxy = await startNginx(configuration, { folder, port: proxyPort, signal });
  services.push(proxy.service);
  const env = {
    NODE_ENV: 'production',
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    DATA_DIR: folder,
    SECRET_KEY: randomBytes(32).toString('base64'),
    PUBLIC_URL: proxy.url,
    TRUST_PROXY: '127.0.0.1',
    LOG_LEVEL: 'warn',
    // One client is all of them here.
    RATE_LIMIT_BURST: '100000',
    RATE_LIMIT_PER_SECOND: '100000',
    // The demo is about restarts: on a busy machine requests are slow, not failed.
    REQUEST_TIMEOUT_MS: '60000',
    OPERATION_TIMEOUT_MS: '60000',
    STATEMENT_TIMEOUT_MS: '30000',
    MAX_STREAMS_PER_CLIENT: String(SUBSCRIBERS),
  };
  const settings = { env, folder, signal };
  await migrateCheckout(old, settings);
  const key = await createKey(old, settings);
  const instances = ports.map((port, index) => new Instance(`instance ${index + 1}`, port, settings));
  services.push(...instances.map((instance) => ({ stop: () => instance.stop('SIGKILL') })));
  const readyMs = await Promise.all(instances.map((instance) => instance.start(old)));
  say(
    `1. PostgreSQL, Redis, nginx with HTTP/2, and three instances, ready after ${readyMs.map(seconds).join(', ')}.`,
  );

  const stopped = new AbortController();
  const clients = Array.from(
    { length: Math.ceil(SUBSCRIBERS / STREAMS_A_CONNECTION) },
    () => new Http2Client(proxy.url, proxy.certificate),
  );
  const subscribers = Array.from(
    { length: SUBSCRIBERS },
    (_, index) => new Subscriber(clients[index % clients.length] as Http2Client, key, stopped.signal),
  );
  const following = subscribers.map((subscriber) => subscriber.follow());
  await Promise.all(subscribers.map(({ opened }) => opened));
  say(
    `2. ${SUBSCRIBERS} subscribers on ${clients.length} connections. ${RATE} requests a second for ${SECONDS} s.`,
  );

  const loadClient = new Http2Client(proxy.url, proxy.certificate);
  const load = new MixedLoad(loadClient, key);
  const loading = new AbortController();
  const lag = monitorEventLoopDelay();
  lag.enable();
  const startedMs = performance.now();
  const running = load.run(RATE, loading.signal);
  await delay((SECONDS * 1_000) / 6);
  if (given.old !== undefined) {
    say(`   The migrations of the new version: ${(await migrateCheckout(ROOT, settings)).trim()}`);
  }
  say('3. Every instance is replaced (SIGTERM), one after the other.');
  const rollingMs = performance.now();
  const stops = await roll(instances, ROOT, say);
  const rolledMs = performance.now();
  say('4. One instance is killed (SIGKILL), and started again.');
  await delay((SECONDS * 1_000) / 12);
  const killed = await kill(instances[1] as Instance, ROOT, say);
  const recoveredMs = performance.now();
  if (given.back) {
    say('5. Every instance goes back to the old version, on the migrated database.');
    await delay((SECONDS * 1_000) / 12);
    await roll(instances, old, say);
  }
  const returnedMs = performance.now();
  await delay(Math.max((SECONDS * 1_000) / 6, startedMs + SECONDS * 1_000 - performance.now()));
  loading.abort();
  await running;
  loadClient.close();

  const byTitle = await postsIn(database.url);
  const posts = [...byTitle.values()].flat();
  const deliveredTo = ({ received }: Subscriber) => posts.every((post) => received.has(post));
  const limit = AbortSignal.timeout(LAST_EVENTS_MS);
  await until('the last delivery', async () => subscribers.every(deliveredTo), { signal: limit }).catch(
    () => undefined,
  );
  stopped.abort();
  await Promise.all(following);
  for (const client of clients) client.close();

  const phases: Phase[] = [
    { name: 'before', startedMs, endedMs: rollingMs },
    { name: 'rolling restart', startedMs: rollingMs, endedMs: rolledMs },
    { name: 'between', startedMs: rolledMs, endedMs: killed.signalledMs },
    { name: 'SIGKILL and start', startedMs: killed.signalledMs, endedMs: recoveredMs },
    ...(given.back ? [{ name: 'rolling back', startedMs: recoveredMs, endedMs: returnedMs }] : []),
    { name: 'after', startedMs: returnedMs, endedMs: performance.now() },
  ];
  const { outcomes, keyedTitles } = load;
  const failed = outcomes.filter(({ failure }) => failure !== undefined);
  const noticedMs = killed.goneMs + NOTICED_MS + lag.max / 1e6;
  const killedInFlight = failed.filter((it) => it.startedMs <= noticedMs && it.endedMs >= killed.signalledMs);
  // An instance of version 1.0.0 resets connections that it has not accepted when it stops. nginx does not send a mutation twice.
  const lostByOldVersion = failed.filter(
    ({ startedMs, endedMs, failure }) =>
      given.old !== undefined &&
      failure?.startsWith('502') === true &&
      stops.some((stop) => startedMs <= stop.endedMs && endedMs >= stop.startedMs),
  );
  const unavoidable = [...new Set([...killedInFlight, ...lostByOldVersion])];
  const deliveries = deliveriesOf(subscribers, posts);
  const twice = [...byTitle].filter(([, ids]) => ids.length > 1);
  const undone = keyedTitles.filter((title) => !byTitle.has(title));
  const rejections = subscribers.flatMap((subscriber) => subscriber.rejections);
  const reconnects = subscribers.reduce((sum, subscriber) => sum + subscriber.reconnects, 0);
  say(`\n${latencyTable(outcomes, phases)}\n`);
  say(`requests           ${outcomes.length}: ${mixOf(outcomes)}`);
  say(
    `failed             ${failed.length}, of them in flight at the SIGKILL: ${killedInFlight.length}${given.old === undefined ? '' : `; reset by the old version: ${lostByOldVersion.length}`}${failed.length === 0 ? '' : ` (${reasons(failed)})`}`,
  );
  say(
    `posts              ${posts.length}, done twice: ${twice.length}; with a key and not done: ${undone.length}`,
  );
  say(
    `events delivered   ${deliveries.total} to ${SUBSCRIBERS} subscribers, which came back ${reconnects} times`,
  );
  say(`events lost        ${deliveries.lost}`);
  say(`events twice       ${deliveries.doubled}`);
  judge([
    failed.length > unavoidable.length && `${failed.length - unavoidable.length} requests failed`,
    phases.some(
      (phase) =>
        phase.name.startsWith('rolling') && failuresIn(failed, phase).some((it) => !unavoidable.includes(it)),
    ) && 'requests failed in a rolling restart',
    deliveries.lost > 0 && `${deliveries.lost} events were lost`,
    deliveries.doubled > 0 && `${deliveries.doubled} events came twice`,
    twice.length > 0 && `done twice: ${twice.map(([title]) => title).join(', ')}`,
    undone.length > 0 && `not done in spite of a key: ${undone.join(', ')}`,
    rejections.length > 0 && `streams were refused with ${[...new Set(rejections)].join(', ')}`,
  ]);
  say(
    'As promised: nothing failed that was not in flight on the killed instance, nothing lost, nothing twice.',
  );
}

/** Runs the demo, which has a limit from then on, and stops what it has started. */
async function run(folder: string, old: string): Promise<void> {
  const services: Pick<Service, 'stop'>[] = [];
  const limit = new AbortController();
  const timer = setTimeout(
    () => limit.abort(new Error('the demo took too long')),
    LIMIT_MS + SECONDS * 1_000,
  );
  process.once('SIGINT', () => limit.abort(new Error('interrupted')));
  const aborted = new Promise<never>((_, reject) => {
    limit.signal.addEventListener('abort', () => reject(limit.signal.reason));
  });
  try {
    await Promise.race([demonstrate(folder, services, limit.signal, old), aborted]);
  } finally {
    clearTimeout(timer);
    for (const service of services.reverse()) await service.stop();
  }
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-cluster-'));
  const undo: (() => Promise<unknown>)[] = [];
  try {
    // The users of PostgreSQL and nginx must be able to reach their files.
    await chmod(folder, 0o755);
    const old = given.old === undefined ? ROOT : await prepareOldVersion(ROOT, given.old, folder, undo);
    if (old !== ROOT) say(`The old version is ${given.old}.`);
    await run(folder, old);
  } finally {
    for (const step of undo) await step();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    say('Everything has been stopped and removed.');
  }
}

try {
  await main();
  process.exit(0);
} catch (error) {
  process.stderr.write(`${error instanceof SetupError ? error.message : (error as Error).stack}\n`);
  process.exit(1);
}
