import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin, type TestProjectInlineConfiguration } from 'vitest/config';
import { ANY_DATABASE } from './tests/stages.ts';
import type { NeededSetting } from './tests/support/needed-settings.ts';

const MINUTE = 60_000;

// Everything random in a run comes from this seed, in every suite. The workers inherit the variable.
if (process.env.PROPERTY_SEED === undefined) {
  process.env.PROPERTY_SEED = String(randomInt(2 ** 31));
  process.stdout.write(`PROPERTY_SEED=${process.env.PROPERTY_SEED} repeats what this run draws.\n`);
}

/**
 * No test is decided by its time limit: the limits only end a run that hangs. The limit of a wait is below the limit of
 * the test, so that the message of the wait is shown.
 */
const POLL_LIMIT = 2 * MINUTE;
const TEST_LIMIT = 10 * MINUTE;

interface Suite extends NonNullable<TestProjectInlineConfiguration['test']> {
  readonly maxWorkers?: number;
  readonly globalSetup?: string[];
  readonly needs?: readonly NeededSetting[];
}

/** They call the service in process, on a copy of one migrated database. */
const IN_PROCESS: Suite = {
  globalSetup: ['tests/support/global-setup.ts'],
  // Some only wait: one more than there are cores. On PostgreSQL their connections are limited.
  maxWorkers: process.env.DATABASE_URL === undefined ? 3 : 2,
};
/** The next file in a worker finds its modules loaded: a third less CPU. */
const SHARED: Suite = { ...IN_PROCESS, isolate: false };
/** Child processes on real sockets: slower than the others, and each with a folder of its own. Some only wait. */
const PROCESSES: Suite = {
  globalSetup: ['tests/support/processes/migrated-folder.ts'],
  maxWorkers: 3,
};
/** One file at a time, for the sake of the clock. */
const ALONE: Suite = { maxWorkers: 1 };

/** A suite is a folder of `tests/`, where it doesn't say otherwise. docs/contributing/tests.md has what a machine needs for each. */
const SUITES: Readonly<Record<string, Suite>> = {
  unit: { ...SHARED, include: ['tests/{unit,contract}/**/*.test.ts'] },
  api: { ...SHARED, exclude: process.env.DATABASE_URL === undefined ? [] : ANY_DATABASE },
  postgres: { ...SHARED, needs: ['DATABASE_URL'] },
  // The keys are those of accounts made for the run, so that runs do not meet.
  redis: { ...IN_PROCESS, needs: ['REDIS_URL'] },
  deploy: { ...IN_PROCESS, needs: ['DATABASE_URL'] },
  metrics: { ...IN_PROCESS, needs: ['DATABASE_URL', 'REDIS_URL'] },
  e2e: PROCESSES,
  docs: PROCESSES,
  browser: {
    globalSetup: ['tests/support/processes/built-example.ts', 'tests/support/processes/migrated-folder.ts'],
  },
  network: ALONE,
  attack: {
    ...ALONE,
    needs: ['DATABASE_URL'],
    globalSetup: ['tests/attack/support/deployment.ts'],
  },
  chaos: { ...ALONE, needs: ['DATABASE_URL'] },
  // They count what is answered before the next crash, and look at no clock.
  crash: { ...ALONE, maxWorkers: 2, needs: ['DATABASE_URL'] },
};

const project = ([name, suite]: readonly [string, Suite]) => {
  const { needs = [], globalSetup = [], maxWorkers = 2, ...test } = suite;
  return {
    test: {
      name,
      include: [`tests/${name}/**/*.test.ts`],
      maxWorkers,
      // In a run of several, Vitest has those together that have as many workers.
      sequence: { groupOrder: maxWorkers },
      provide: { needs },
      globalSetup: ['tests/support/needed-settings.ts', ...globalSetup],
      testTimeout: TEST_LIMIT,
      hookTimeout: TEST_LIMIT,
      ...test,
    },
  };
};

/** The examples use the client, which is built only to be packed. */
const CLIENT_ALIASES = [
  {
    find: /^content-graph-client$/,
    replacement: fileURLToPath(new URL('packages/client/src/index.ts', import.meta.url)),
  },
  {
    find: /^content-graph-client\/(.*)$/,
    replacement: fileURLToPath(new URL('packages/client/src/adapters/$1.ts', import.meta.url)),
  },
];

/** The recipes, with the packages that `npm run test:clients` installs: Relay's needs Babel. They have a graphql-js of their own. */
async function clients(): Promise<TestProjectInlineConfiguration> {
  const installed = existsSync('examples/clients/node_modules');
  const recipe = new URL('examples/clients/relay/vite-relay.mjs', import.meta.url);
  const plugins = installed ? [((await import(recipe.href)) as { relay(): Plugin }).relay()] : [];
  const test = {
    ...PROCESSES,
    name: 'clients',
    include: ['tests/clients/**/*.test.ts'],
    maxWorkers: 2,
    testTimeout: TEST_LIMIT,
    hookTimeout: TEST_LIMIT,
    expect: { poll: { timeout: POLL_LIMIT } },
  };
  return { extends: false, plugins, resolve: { alias: CLIENT_ALIASES }, test };
}

/** Software of others, with the packages that `npm run test:compatibility` installs. Some have a separate graphql-js. */
const COMPATIBILITY: TestProjectInlineConfiguration = {
  extends: false,
  test: {
    ...IN_PROCESS,
    name: 'compatibility',
    include: ['tests/compatibility/**/*.test.ts'],
    maxWorkers: 2,
    provide: { needs: ['DATABASE_URL'] },
    globalSetup: [
      'tests/support/needed-settings.ts',
      'tests/support/global-setup.ts',
      'tests/compatibility/support/people.ts',
    ],
    testTimeout: TEST_LIMIT,
    hookTimeout: TEST_LIMIT,
    expect: { poll: { timeout: POLL_LIMIT } },
  },
};

export default defineConfig({
  resolve: {
    alias: [
      // Node takes graphql's CommonJS build and Vite its ES module: two copies, which graphql-js refuses to mix.
      { find: /^graphql$/, replacement: fileURLToPath(import.meta.resolve('graphql')) },
      ...CLIENT_ALIASES,
    ],
  },
  test: {
    setupFiles: ['tests/support/property-seed.ts'],
    restoreMocks: true,
    expect: { poll: { timeout: POLL_LIMIT } },
    projects: [...Object.entries(SUITES).map(project), clients(), COMPATIBILITY],
  },
});
