import { globSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';

/**
 * Which tests run when. The gate (`npm run test:gate`, and so `.ci/run`) is what every change must pass; `npm run test:full`
 * runs everything. docs/contributing/tests.md has the rule that puts a test into a tier.
 */

const ROOT = join(import.meta.dirname, '..');

/** A run of Vitest on some files, or a script of package.json. */
export interface Step {
  /** Projects of vitest.config.ts, which are needed where a file belongs to several. */
  readonly projects?: readonly string[];
  /** Patterns of test files, from the root folder. */
  readonly files?: readonly string[];
  /** Patterns of files that are left out. */
  readonly except?: readonly string[];
  /** A script of package.json in place of Vitest. Scripts in `VITEST_SCRIPTS` run Vitest on `files`. */
  readonly script?: string;
  readonly args?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** Scripts that install a separate package, and then run Vitest. */
export const VITEST_SCRIPTS: readonly string[] = ['test:clients', 'test:compatibility'];

export interface Stage {
  readonly name: string;
  /** Services that the stage uses. Without PostgreSQL, tests run on the embedded database. */
  readonly services?: readonly ('postgres' | 'redis')[];
  readonly steps: readonly Step[];
}

/** A stage with the time that it may take on two quiet cores, in seconds. */
export interface GateStage extends Stage {
  readonly budgetSeconds: number;
}

/** The gate draws the same values in every run, so that a change is never blamed for a value that only it has drawn. */
export const GATE_SEED = 20_261_128;

const tests = (folder: string, names: readonly string[]): string[] =>
  names.map((name) => `tests/${folder}/${name}.test.ts`);

/**
 * API tests that send no SQL of their own interest: HTTP, pages, headers, documents that are rejected, limits in memory.
 * They run on the embedded database only.
 */
export const ANY_DATABASE = tests('api', [
  'client/*',
  'deprecation/{metric-and-log,told}',
  'transport/{audits,compact-json,cors,cors-token-origins,development,graphiql,introspection,metrics-token,pipelining}',
  'transport/{plain-http,probes,published-plugins,request-head,request-id,routes,transport,validation-errors,wrong-body,yoga-plugins}',
  'oauth/{documents,pages}',
  'multipart/negotiation',
  'log/requests',
  'compression/*',
  'limits/operation/{block-strings,input-cost,operation-cost,operation-limits,page-bounds}',
  'limits/memory/body-limit',
  'events/{copied-folder,post-event-order}',
  'limits/clients/slow-clients',
  'limits/rate-limit/address-buckets',
]);

/** API tests that show the main promises on the embedded database, besides PostgreSQL. */
const ON_BOTH_DATABASES = tests('api', [
  'auth/{authentication,login,permissions,revocation}',
  'content/mutations/{create-post,update-post,delete-post,comments,versions}',
  'content/queries/{connections,posts,users}',
  'events/{post-created-resume,read-then-follow,subscription-stream}',
  'idempotency/{key,replay,single-statement}',
  'limits/database/timeouts',
  'limits/rate-limit/rate-limit',
  'node/node',
  'worlds/zones',
]);

/** Files that only `npm run test:full` runs: they take long, or test a mechanism that another file covers. */
const FULL_ONLY = [
  ...tests('unit', ['operation/fast-validator']),
  ...tests('api', [
    'content/look-ahead/look-ahead',
    'limits/database/prepared-statements',
    'limits/memory/{stream-token-memory,waiting-memory}',
    'node/rejected-nodes',
    'transport/{keep-alive,published-plugins}',
  ]),
  ...tests('postgres', [
    'backup',
    'cancelled-statements',
    'copied-database',
    'copy-to-targets',
    'copy-to-killed',
    'histories/{lost-and-kept,restored}',
    'late-credentials',
    'post-event-order',
    'prepared-memory',
    'traces-through-pooler',
    'worlds/messages',
  ]),
];

/** What `npm test` runs. */
export const QUICK_FILES: Step = {
  projects: ['unit', 'api'],
  files: ['tests/{unit,contract}/**', ...ANY_DATABASE, ...ON_BOTH_DATABASES],
  except: FULL_ONLY,
};

const CRASH_SIZES = { CRASH_KEYS: '200' };

export const GATE_STAGES: readonly GateStage[] = [
  {
    name: 'checks',
    budgetSeconds: 15,
    steps: [{ script: 'generate' }, { script: 'typecheck' }, { script: 'lint' }, { script: 'schema:check' }],
  },
  { name: 'npm test', budgetSeconds: 72, steps: [QUICK_FILES] },
  {
    name: 'PostgreSQL',
    budgetSeconds: 345,
    services: ['postgres'],
    steps: [
      {
        projects: ['api', 'postgres', 'deploy', 'compatibility'],
        files: [
          'tests/{api,postgres}/**',
          ...tests('deploy', ['admin-wrapper', 'doctor', 'request-fields', 'upgrade']),
          // Software that the service installs anyway.
          ...tests('compatibility', ['issuers/oidc-provider', 'oauth/oauth4webapi', 'proxies/vite']),
        ],
        except: [...ANY_DATABASE, ...FULL_ONLY],
      },
    ],
  },
  {
    name: 'processes',
    budgetSeconds: 170,
    steps: [
      {
        projects: ['e2e', 'docs'],
        files: [
          ...tests('e2e', [
            '{admin-accounts,admin-beside-server,admin-socket,backup,copied-folder,durability}',
            '{first-start,folder-mistakes,full-disk,log,old-node,other-local-user,power-loss}',
            '{release,restore-rejected,settings,shutdown,signals,start-mistakes}',
          ]),
          ...tests('docs', ['readme', 'pages']),
        ],
      },
    ],
  },
  {
    name: 'Redis',
    budgetSeconds: 30,
    services: ['postgres', 'redis'],
    steps: [{ projects: ['redis'], files: ['tests/redis/**'] }],
  },
  {
    name: 'browser',
    budgetSeconds: 150,
    steps: [
      {
        projects: ['browser'],
        files: tests('browser', [
          '{account-page,event-source,example,example-live,graphiql,graphiql-status,link-page}',
          '{oauth,pages}',
        ]),
      },
    ],
  },
  {
    name: 'clients',
    budgetSeconds: 56,
    steps: [
      {
        script: 'test:clients',
        files: tests('clients', ['adapters', 'apollo', 'persisted-queries', 'requests']),
      },
    ],
  },
  {
    name: 'fuzz',
    budgetSeconds: 38,
    services: ['postgres'],
    steps: [
      { script: 'test:fuzz', args: ['--count', '2000', '--seed', '1'] },
      { script: 'test:fuzz:sequences', args: ['--count', '20', '--seed', '110'] },
    ],
  },
  {
    name: 'crash',
    budgetSeconds: 42,
    services: ['postgres'],
    steps: [
      {
        projects: ['crash'],
        files: tests('crash', ['exactly-once', 'two-processes']),
        environment: CRASH_SIZES,
      },
    ],
  },
  {
    name: 'chaos',
    budgetSeconds: 43,
    services: ['postgres'],
    steps: [{ projects: ['chaos'], files: tests('chaos', ['embedded', 'postgres']) }],
  },
  {
    name: 'attack',
    budgetSeconds: 100,
    services: ['postgres'],
    steps: [{ projects: ['attack'], files: ['tests/attack/**'] }],
  },
  {
    name: 'cluster',
    budgetSeconds: 62,
    steps: [
      { script: 'demo:cluster', args: ['--old', 'b77950fb', '--seconds', '30', '--subscribers', '200'] },
    ],
  },
];

const suite = (folder: string, services: Stage['services'] = [], step: Partial<Step> = {}): Stage => ({
  name: folder,
  services,
  steps: [{ projects: [folder], files: [`tests/${folder}/**`], ...step }],
});

/** Every test that exists. */
export const FULL_SUITES: readonly Stage[] = [
  {
    name: 'checks',
    steps: [{ script: 'generate' }, { script: 'typecheck' }, { script: 'lint' }, { script: 'schema:check' }],
  },
  suite('unit', [], { files: ['tests/{unit,contract}/**'] }),
  suite('api'),
  {
    name: 'api-postgres',
    services: ['postgres'],
    steps: [{ projects: ['api'], files: ['tests/api/**'], except: ANY_DATABASE }],
  },
  suite('postgres', ['postgres']),
  suite('redis', ['postgres', 'redis']),
  suite('e2e'),
  suite('docs'),
  suite('browser'),
  { name: 'clients', steps: [{ script: 'test:clients', files: ['tests/clients/**'] }] },
  {
    name: 'compatibility',
    services: ['postgres'],
    steps: [
      { script: 'test:compatibility', files: ['tests/compatibility/**'] },
      {
        script: 'test:compatibility',
        files: ['tests/compatibility/**'],
        environment: { TEST_HOST: 'yoga' },
      },
    ],
  },
  suite('network'),
  suite('metrics', ['postgres', 'redis']),
  suite('deploy', ['postgres']),
  suite('attack', ['postgres']),
  suite('chaos', ['postgres']),
  suite('crash', ['postgres']),
  { name: 'look-ahead', steps: [{ script: 'test:look-ahead' }] },
  {
    name: 'fuzz',
    steps: [
      { script: 'test:fuzz', args: ['--seconds', '120'] },
      { script: 'test:fuzz:sequences', args: ['--seconds', '60'] },
    ],
  },
  {
    name: 'fuzz-postgres',
    services: ['postgres', 'redis'],
    steps: [
      { script: 'test:fuzz', args: ['--seconds', '120'] },
      { script: 'test:fuzz:sequences', args: ['--seconds', '60'] },
    ],
  },
  { name: 'adversary', steps: [{ script: 'bench', args: ['adversary', '--kept'] }] },
  { name: 'cluster', steps: [{ script: 'demo:cluster', args: ['--old', 'b77950fb', '--back'] }] },
];

let testFiles: readonly string[] | undefined;

/** The test files of a step, sorted so that every machine runs the same. */
export function findFiles({ files = [], except = [] }: Pick<Step, 'files' | 'except'>): string[] {
  testFiles ??= globSync('tests/**/*.test.ts', { cwd: ROOT, exclude: ['**/node_modules/**'] }).sort();
  const matches = (file: string, patterns: readonly string[]) =>
    patterns.some((pattern) => matchesGlob(file, pattern));
  return testFiles.filter((file) => matches(file, files) && !matches(file, except));
}

/** Every test file that the gate runs. */
export const findGateFiles = (): Set<string> =>
  new Set(GATE_STAGES.flatMap(({ steps }) => steps.flatMap(findFiles)));
