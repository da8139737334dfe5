/**
 * `npm run bench [-- command] [--quick]`: installs what the benchmarks need beyond the service, then runs one of them.
 * Everything is on loopback, bounded, and cleaned up afterwards.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const COMMANDS: Readonly<Record<string, string>> = {
  compare: 'side by side with the floor and the peers (the default: 25 minutes; --quick: 3)',
  browsers: 'requests as Chromium sends them, beside the same without its headers',
  against: 'this checkout against another one, before and after a change (against FOLDER)',
  documents: 'published documents by id beside texts, and 100,000 of them',
  growth: 'lists of 1, 10, 100; nesting 1 to 4; 10,000 to 1,000,000 posts',
  latency: 'p99 against p50 at half the saturation rate, a minute each',
  abuse: '100 clients with the most expensive query, slow clients, idle connections',
  adversary: 'a search for what one account can do to another (adversary --minutes 10, --embedded, --kept)',
  probes: 'what hostile requests cost before they are refused',
  compression: 'bytes and CPU of answers as they are, with gzip, br and zstd',
  caching: 'answers asked for again: 304 against 200, what an ETag costs, a public page through nginx',
  prices: 'database time a point of complexity, over 200 random queries',
  dearest: 'a search for the dearest operations that the limits accept (dearest --out FILE)',
  anonymous: 'what floods of requests without credentials do to a client with a key',
  addresses: 'what floods of twenty addresses do to the log-ins and tokens of others',
  fanout: 'new posts to thousands of subscribers, beside servers that only write (fanout --only PART)',
  groups: '10,000 different subscriptions of 250 accounts, in the memory of a container of 1 GiB',
  soak: 'memory over ten minutes of load with streams that open and close',
  locks: 'mutations that lock posts in opposite orders, beside the query of another account',
  'login-timing': 'whether the time of a refused login tells if there is an account',
  'event-log': 'the event log with 50,000,000 events, in one table and in a partition a day',
  scaling: 'one instance, and two with Redis: requests a second, latencies, buckets',
  traces: 'what traces cost: one in a hundred, all, and all with a collector that is down',
  profile: 'where the time goes under one workload (profile W0 … W9)',
};

const folder = fileURLToPath(new URL('.', import.meta.url));

/** npm copies the lock file's packages here when it has put them in place. */
const installed = () =>
  existsSync(`${folder}node_modules/.package-lock.json`) &&
  JSON.stringify(packagesOf('package-lock.json')) ===
    JSON.stringify(packagesOf('node_modules/.package-lock.json'));

function packagesOf(file: string): string[] {
  const { packages } = JSON.parse(readFileSync(`${folder}${file}`, 'utf8')) as {
    packages: Record<string, { version?: string; optional?: boolean }>;
  };
  // What is optional depends on the machine.
  return Object.entries(packages).flatMap(([path, { version, optional }]) =>
    path === '' || optional === true ? [] : [`${path}@${version}`],
  );
}

function fail(text: string, status: number): never {
  process.stderr.write(text);
  process.exit(status);
}

const [first = 'compare', ...others] = process.argv.slice(2);
const [command, args] = first.startsWith('--') ? ['compare', [first, ...others]] : [first, others];
if (!Object.hasOwn(COMMANDS, command)) {
  const lines = Object.entries(COMMANDS).map(([name, about]) => `  ${name.padEnd(14)}${about}`);
  fail(`There is no benchmark "${command}". There are:\n${lines.join('\n')}\n`, 2);
}
if (!installed()) {
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: 'inherit',
  });
  if (status !== 0) fail('The packages of bench/ could not be installed.\n', status ?? 1);
}
const child = spawn(process.execPath, [`${folder}${command}.ts`, ...args], { stdio: 'inherit' });
// Ctrl-C reaches the child by itself, a kill of this process does not; either way the child cleans up first.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => child.kill('SIGTERM'));
child.on('exit', (code) => process.exit(code ?? 1));
