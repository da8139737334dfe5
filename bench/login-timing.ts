/**
 * Whether the time of a refused login tells if the e-mail has an account: 200 tries with a known one and 200 with
 * unknown ones, by turns, against the service on a socket. Prints both distributions and how far they overlap.
 *
 *   node_modules/.bin/node bench/login-timing.ts [tries]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAccount } from '../src/auth/account/store.ts';
import { loadConfig } from '../src/platform/config.ts';
import { openDatabase } from '../src/platform/db/database.ts';
import { migrate } from '../src/platform/db/migrate.ts';
import { createLogger } from '../src/platform/log.ts';
import { startService } from '../src/serve.ts';

const TRIES = Number(process.argv[2] ?? 200);
const WARM_UP = 10;
const EMAIL = 'somebody@example.com';
const BINS = 20;
const BAR = 50;

/** Failures are limited in earnest: here the limit is out of the way. */
const SETTINGS = {
  NODE_ENV: 'test',
  PORT: '0',
  RATE_LIMIT_BURST: '1000000',
  FAILURE_BURST: '1000000',
  LOG_LEVEL: 'error',
};

async function timeLogin(origin: string, email: string): Promise<number> {
  const startMs = performance.now();
  const response = await fetch(`${origin}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password: 'not the password at all' }),
  });
  await response.arrayBuffer();
  if (response.status !== 401) throw new Error(`a refused login was answered with ${response.status}`);
  return performance.now() - startMs;
}

async function measure(origin: string): Promise<{ known: number[]; unknown: number[] }> {
  const known: number[] = [];
  const unknown: number[] = [];
  for (let i = -WARM_UP; i < TRIES; i += 1) {
    const pair = [await timeLogin(origin, EMAIL), await timeLogin(origin, `nobody${i}@example.com`)] as const;
    if (i < 0) continue;
    known.push(pair[0]);
    unknown.push(pair[1]);
  }
  return { known, unknown };
}

const quantile = (sorted: readonly number[], q: number) => sorted[Math.floor((sorted.length - 1) * q)] ?? 0;

function summary(name: string, times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const figures = [0.05, 0.25, 0.5, 0.75, 0.95].map((q) => `p${q * 100} ${quantile(sorted, q).toFixed(2)}`);
  return `${name.padEnd(8)} ${figures.join('  ')}  ms`;
}

/** How likely a known one takes longer than an unknown one: a half means that time tells nothing. */
function probabilityOfLonger(known: readonly number[], unknown: readonly number[]): number {
  let longer = 0;
  for (const a of known) for (const b of unknown) longer += a > b ? 1 : a === b ? 0.5 : 0;
  return longer / (known.length * unknown.length);
}

function histogram(known: readonly number[], unknown: readonly number[]): string {
  const all = [...known, ...unknown].sort((a, b) => a - b);
  const low = quantile(all, 0.01);
  const width = (quantile(all, 0.99) - low) / BINS || 1;
  const binOf = (time: number) => Math.min(BINS - 1, Math.max(0, Math.floor((time - low) / width)));
  const count = (times: readonly number[]) => {
    const bins = Array.from({ length: BINS }, () => 0);
    for (const time of times) bins[binOf(time)] = (bins[binOf(time)] ?? 0) + 1;
    return bins;
  };
  const bins = { known: count(known), unknown: count(unknown) };
  const most = Math.max(...bins.known, ...bins.unknown);
  return Array.from({ length: BINS }, (_, index) => {
    const bar = (counts: readonly number[], mark: string) =>
      mark.repeat(Math.round(((counts[index] ?? 0) / most) * (BAR / 2))).padEnd(BAR / 2);
    return `${(low + index * width).toFixed(1).padStart(7)} ms |${bar(bins.known, '#')}|${bar(bins.unknown, '.')}`;
  }).join('\n');
}

const dataDir = await mkdtemp(join(tmpdir(), 'content-graph-timing-'));
const config = loadConfig({ ...SETTINGS, DATA_DIR: dataDir });
const log = createLogger({ level: 'error', pretty: false });
const database = await openDatabase({ config, log });
await migrate(database);
await createAccount(database, {
  name: 'Somebody',
  email: EMAIL,
  password: 'the password of somebody',
});
await database.close();
const service = await startService(config, log);
try {
  const { known, unknown } = await measure(service.origin);
  process.stdout.write(
    [
      `${TRIES} refused logins each`,
      summary('known', known),
      summary('unknown', unknown),
      `a known e-mail takes longer with probability ${probabilityOfLonger(known, unknown).toFixed(3)} (0.5: no telling)`,
      `${''.padStart(11)}${'known'.padEnd(BAR / 2 + 1)}unknown`,
      histogram(known, unknown),
      '',
    ].join('\n'),
  );
} finally {
  await service.stop();
  await rm(dataDir, { recursive: true, force: true });
}
