import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin, type TestProjectInlineConfiguration } from 'vitest/config';
import type { NeededSetting } from './tests/support/needed-settings.ts';

const MINUTE = 60_000;

interface Suite extends NonNullable<TestProjectInlineConfiguration['test']> {
  readonly maxWorkers?: number;
  readonly globalSetup?: string[];
  readonly needs?: readonly NeededSetting[];
}

/**
 * Tests of `tests/api/` to which one database is as good as another: what they ask is answered, refused or sent on before
 * or after the database has been asked for a key and a few posts. On the embedded one they have shown what they can.
 */
const OF_ANY_DATABASE = [
  // Requests, routes, pages and headers; documents that are read and refused.
  'deprecation/{metric-and-log,told}',
  'transport/{audits,compact-json,cors,development,docs,graphiql,introspection,metrics-token,pipelining}',
  'transport/{plain-http,probes,request-head,request-id,routes,transport,validation-errors,wrong-body,yoga-plugins}',
  'oauth/{documents,pages}',
  'multipart/negotiation',
  'log/requests',
  // The coding of an answer that is there.
  'compression/*',
  // Documents and bodies are counted before they are executed.
  'limits/operation/{block-strings,input-cost,operation-cost,operation-limits,page-bounds,variable-names}',
  'limits/memory/body-limit',
  // The embedded database, wherever the others run.
  'events/copied-folder',
  // Sockets, and buckets in memory.
  'limits/clients/slow-clients',
  'limits/rate-limit/address-buckets',
].map((files) => `tests/api/${files}.test.ts`);

/** They call the service in process, on a copy of one migrated database. */
const IN_PROCESS: Suite = {
  globalSetup: ['tests/support/global-setup.ts'],
  // Some only wait: one more than there are cores. On PostgreSQL their connections are limited.
  maxWorkers: process.env.DATABASE_URL === undefined ? 3 : 2,
  testTimeout: 1.5 * MINUTE,
};
/** The next file in a worker finds its modules loaded: a third less CPU. */
const SHARED: Suite = { ...IN_PROCESS, isolate: false };
/** Child processes on real sockets: slower than the others, and each with a folder of its own. Some only wait. */
const PROCESSES: Suite = {
  globalSetup: ['tests/support/processes/migrated-folder.ts'],
  maxWorkers: 3,
  testTimeout: 5 * MINUTE,
  hookTimeout: 5 * MINUTE,
};
/** One file at a time, for the sake of the clock. */
const ALONE: Suite = { maxWorkers: 1, testTimeout: 10 * MINUTE };

/** A suite is a folder of `tests/`, where it doesn't say otherwise. CONTRIBUTING.md has what a machine needs for each. */
const SUITES: Readonly<Record<string, Suite>> = {
  unit: { ...SHARED, include: ['tests/{unit,contract}/**/*.test.ts'] },
  api: { ...SHARED, exclude: process.env.DATABASE_URL === undefined ? [] : OF_ANY_DATABASE },
  postgres: { ...SHARED, needs: ['DATABASE_URL'] },
  // The keys are those of accounts made for the run, so that runs do not meet.
  redis: { ...IN_PROCESS, needs: ['REDIS_URL'] },
  deploy: { ...IN_PROCESS, needs: ['DATABASE_URL'], testTimeout: 3 * MINUTE },
  metrics: { ...IN_PROCESS, needs: ['DATABASE_URL', 'REDIS_URL'], testTimeout: 3 * MINUTE },
  e2e: PROCESSES,
  docs: PROCESSES,
  browser: {
    globalSetup: ['tests/support/processes/built-example.ts', 'tests/support/processes/migrated-folder.ts'],
    testTimeout: 2 * MINUTE,
    hookTimeout: 2 * MINUTE,
    // A click may lead through a form, a child process with a database of its own and two redirects.
    expect: { poll: { timeout: MINUTE / 2 } },
  },
  network: { ...ALONE, testTimeout: 5 * MINUTE },
  attack: {
    ...ALONE,
    needs: ['DATABASE_URL'],
    globalSetup: ['tests/attack/support/deployment.ts'],
    testTimeout: MINUTE,
    hookTimeout: 2 * MINUTE,
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
      ...test,
    },
  };
};

/** The recipes, with the packages that `npm run test:clients` installs: Relay's needs Babel. They have a graphql-js of their own. */
async function clients(): Promise<TestProjectInlineConfiguration> {
  const installed = existsSync('examples/clients/node_modules');
  const recipe = new URL('examples/clients/relay/vite-relay.mjs', import.meta.url);
  const plugins = installed ? [((await import(recipe.href)) as { relay(): Plugin }).relay()] : [];
  const test = { ...PROCESSES, name: 'clients', include: ['tests/clients/**/*.test.ts'], maxWorkers: 2 };
  return { extends: false, plugins, test };
}

export default defineConfig({
  // Node takes graphql's CommonJS build and Vite its ES module: two copies, which graphql-js refuses to mix.
  resolve: { alias: [{ find: /^graphql$/, replacement: fileURLToPath(import.meta.resolve('graphql')) }] },
  test: {
    setupFiles: ['tests/support/property-seed.ts'],
    hookTimeout: MINUTE,
    restoreMocks: true,
    // A busy machine is slow, not wrong.
    expect: { poll: { timeout: 10_000 } },
    projects: [...Object.entries(SUITES).map(project), clients()],
  },
});
