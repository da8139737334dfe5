/**
 * `npm run bench [-- command] [--quick]`: installs what the benchmarks need beyond the service, then runs one of them.
 * Everything is on loopback, bounded, and cleaned up afterwards.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

interface Benchmark {
  readonly about: string;
  /** What may follow its name. */
  readonly options?: string;
}

const COMMANDS: Readonly<Record<string, Benchmark>> = {
  compare: {
    about: 'side by side with the floor and the peers (the default: 25 minutes; --quick: 3)',
    options: '[W0 … W9] [--quick] [--charts FOLDER]',
  },
  browsers: { about: 'requests as Chromium sends them, beside the same without its headers' },
  against: {
    about: 'this checkout against another one, before and after a change',
    options: 'FOLDER [W0 … W9] [--quick]',
  },
  latency: { about: 'p99 against p50 at half the saturation rate, a minute each' },
  adversary: {
    about: 'a search for what one account can do to another',
    options: '[--minutes N] [--trial MS] [--mix "A + B"] [--embedded] [--kept] [--quick]',
  },
  probes: { about: 'what hostile requests cost before they are refused' },
  compression: { about: 'bytes and CPU of answers as they are, with gzip, br and zstd' },
  fanout: {
    about: 'new posts to thousands of subscribers, beside servers that only write',
    options: '[--only PART] [--subscribers N] [--quick]',
  },
  groups: { about: '10,000 different subscriptions of 250 accounts, in the memory of a container of 1 GiB' },
  scaling: {
    about: 'one instance, and two with Redis: requests a second, latencies, buckets',
    options: '[W0 … W9] [--quick]',
  },
  traces: {
    about: 'what traces cost: one in a hundred, all, and all with a collector that is down',
    options: '[W0 … W9] [--quick]',
  },
  profile: {
    about: 'where the time goes under one workload, as tables and as a flame graph',
    options: '[W0 … W9] [--browser] [--svg FILE] [--quick]',
  },
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

const usageOf = (name: string, { options = '[--quick]' }: Benchmark) => `${name} ${options}`;
const LIST = Object.entries(COMMANDS)
  .map(([name, benchmark]) => `  ${usageOf(name, benchmark)}\n      ${benchmark.about}`)
  .join('\n');

const [first = 'compare', ...others] = process.argv.slice(2);
const [command, args] = first.startsWith('-') ? ['compare', [first, ...others]] : [first, others];
const asksForHelp = args.some((argument) => argument === '--help' || argument === '-h');
if (first.startsWith('-') && asksForHelp) {
  process.stdout.write(`npm run bench [-- BENCHMARK …]\n\n${LIST}\n`);
  process.exit(0);
}
const benchmark = Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined;
if (benchmark === undefined) fail(`There is no benchmark "${command}". There are:\n${LIST}\n`, 2);
const usage = `npm run bench -- ${usageOf(command, benchmark)}\n\n${benchmark.about}\n`;
if (asksForHelp) {
  process.stdout.write(usage);
  process.exit(0);
}
const unknown = args.find((argument) => argument.startsWith('-') && !usage.includes(`[${argument}`));
if (unknown !== undefined) fail(`${command} has no option "${unknown}".\n\n${usage}`, 2);
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
