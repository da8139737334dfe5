import { productionSettings } from './data/service-data.ts';
import type { Workspace } from './data/workspace.ts';
import { type ServerProcess, startServer } from './harness/server-process.ts';
import { BASIC, type Dialect, WORKLOADS, type Workload } from './workloads.ts';

/** Somebody to measure. */
export interface Contestant {
  readonly name: string;
  readonly dialect: Dialect;
  /** A file of bench/servers, or of another checkout's. */
  readonly file: string;
  readonly args?: readonly string[];
  /** What it is measured with; by default all. */
  readonly workloads?: readonly Workload[];
  /** What is said of it in the report. */
  readonly note: string;
}

export const FLOOR: Contestant = {
  name: 'floor',
  dialect: 'floor',
  file: 'floor.ts',
  note: 'node:http and pg with named statements, one hand-written SQL statement a request that returns the JSON, planned with the settings of the service; no GraphQL',
};

export const PRODUCT: Contestant = {
  name: 'product',
  dialect: 'graphql',
  file: 'product.ts',
  note: 'this service as in production: API key, rate limit (raised), operation limits, log at info, metrics',
};

const PRODUCT_ON_LOADERS: Contestant = {
  ...PRODUCT,
  name: 'product, look-ahead off',
  args: ['--loaders'],
  workloads: BASIC,
  note: 'the same, with every nested field read by its loader',
};

export const MERCURIUS: Contestant = {
  name: 'Mercurius',
  dialect: 'graphql',
  file: 'mercurius.ts',
  note: 'with JIT, its loaders and pg with named statements; no authentication, limits or log',
};

export const MERCURIUS_SAME_DUTIES: Contestant = {
  ...MERCURIUS,
  name: 'Mercurius, same duties',
  args: ['--duties'],
  note: 'Mercurius with API key, token bucket (raised) and its headers, limits on body, tokens, depth, complexity and aliases, request id, a log line and metrics for each request',
};

export const POSTGRAPHILE: Contestant = {
  name: 'PostGraphile',
  dialect: 'postgraphile',
  file: 'postgraphile.ts',
  workloads: WORKLOADS.filter((workload) => workload !== 'W7'),
  note: 'Amber preset, connections and lists; no authentication, limits or log; knows no keys of requests',
};

export const PEERS: readonly Contestant[] = [MERCURIUS_SAME_DUTIES, MERCURIUS, POSTGRAPHILE];

export const CONTESTANTS: readonly Contestant[] = [FLOOR, PRODUCT, ...PEERS, PRODUCT_ON_LOADERS];

export const runs = ({ workloads = WORKLOADS }: Contestant, workload: Workload) =>
  workloads.includes(workload);

/** A contestant that listens. */
export interface Running {
  readonly contestant: Contestant;
  readonly workspace: Workspace;
  readonly server: ServerProcess;
  readonly applicationName: string;
}

export interface StartOptions {
  readonly args?: readonly string[];
  readonly nodeArgs?: readonly string[];
  readonly settings?: Readonly<Record<string, string>>;
}

/** Starts a contestant on the database; it stops when `cleanup` is disposed of. */
export async function startContestant(
  cleanup: AsyncDisposableStack,
  workspace: Workspace,
  contestant: Contestant,
  { args = [], nodeArgs = [], settings = {} }: StartOptions = {},
): Promise<Running> {
  const applicationName = `bench ${contestant.name}`;
  const server = await startServer({
    file: contestant.file,
    args: [...(contestant.args ?? []), ...args],
    nodeArgs,
    env: {
      NODE_ENV: 'production',
      GRAPHILE_ENV: 'production',
      AUTHOR_ID: workspace.authorId,
      ...(contestant.file.endsWith('product.ts') ? productionSettings() : {}),
      DATABASE_URL: workspace.urlFor(applicationName),
      ...settings,
    },
  });
  cleanup.defer(() => server.stop());
  return { contestant, workspace, server, applicationName };
}
