import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, inject } from 'vitest';
import { freePorts, type Service, start, until } from '../../../scripts/cluster/processes.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import {
  type GraphQLResponse,
  type GraphqlOptions,
  graphqlPost,
  readResponse,
} from '../../support/graphql.ts';
import type { Settings } from '../../support/processes/process.ts';
import { AMPLE_TIMEOUTS, UNTHROTTLED } from '../../support/settings.ts';
import { type Person, programOf, runAdmin } from './people.ts';

/** Only ends a start that hangs. */
const LIMIT_MS = 300_000;
const METRICS_TOKEN = 'a-token-of-24-characters';

/** One of the instances, on a port that stays the same when its process is replaced. */
export interface Instance {
  readonly origin: string;
  readonly url: string;
  start(): Promise<void>;
  /** Ends the process, if there is one. */
  end(signal: NodeJS.Signals): Promise<void>;
  openStreams(): Promise<number>;
  gql(query: string, options: GraphqlOptions): Promise<GraphQLResponse>;
  /** Creates posts of Ada, one after the other. */
  create(...titles: readonly string[]): Promise<void>;
}

/** Two instances of the service on one database, in processes. */
export interface Cluster {
  readonly first: Instance;
  readonly second: Instance;
  readonly ada: Person;
  readonly grace: Person;
  /** Runs an admin command. @returns the JSON that the command prints */
  admin<Printed>(...args: readonly string[]): Promise<Printed>;
  /** The number of posts with a title. */
  count(title: string): Promise<number>;
}

type Keep = (end: () => Promise<unknown>) => void;

function createInstance(port: number, folder: string, settings: Settings, key: () => string): Instance {
  const origin = `http://127.0.0.1:${port}`;
  let service: Service | undefined;
  const instance: Instance = {
    origin,
    url: `${origin}/graphql`,
    async start() {
      const signal = AbortSignal.timeout(LIMIT_MS);
      service = start(programOf('src/main.ts', [], folder, { ...settings, PORT: String(port) }));
      const isReady = async () => (await fetch(`${origin}/health/ready`)).ok;
      await until('the instance', isReady, { service, signal });
    },
    async end(signal) {
      await service?.stop(signal);
    },
    async openStreams() {
      const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
      const metrics = await (await fetch(`${origin}/metrics`, { headers })).text();
      return Number(/^content_graph_event_streams_open (\d+)$/m.exec(metrics)?.[1]);
    },
    gql: async (query, options) => readResponse(await fetch(instance.url, graphqlPost(query, options))),
    async create(...titles) {
      for (const title of titles) {
        const mutation = 'mutation ($title: String!) { createPost(title: $title, body: "b") { id } }';
        const { errors } = await instance.gql(mutation, { key: key(), variables: { title } });
        if (errors !== undefined) throw new Error(`"${title}" was not created: ${errors[0]?.message}`);
      }
    },
  };
  return instance;
}

async function startCluster(given: Settings, keep: Keep): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-compatibility-'));
  keep(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const { template, secretKey, ada, grace } = inject('people');
  const database = await createTestDatabase({ template });
  keep(() => database.drop());
  const settings = {
    SECRET_KEY: secretKey,
    METRICS_TOKEN,
    SHUTDOWN_DELAY_SECONDS: '0',
    LOG_LEVEL: 'warn',
    ...UNTHROTTLED,
    ...AMPLE_TIMEOUTS,
    ...database.settings,
    ...given,
  };
  const ports = await freePorts(2);
  const [first, second] = ports.map((port) => createInstance(port, folder, settings, () => ada.key));
  if (first === undefined || second === undefined) throw new Error('two ports make two instances');
  for (const instance of [first, second]) keep(() => instance.end('SIGKILL'));
  await Promise.all([first.start(), second.start()]);
  return {
    first,
    second,
    ada,
    grace,
    admin: (...args) => runAdmin(args, folder, settings),
    async count(title) {
      const { data } = await second.gql('{ posts(limit: 100) { title } }', { key: ada.key });
      return (data.posts as { readonly title: string }[]).filter((post) => post.title === title).length;
    },
  };
}

/**
 * Starts two instances for the tests of a file. They run in development, without a rate limit.
 * @returns a function, because the instances exist from the first test on
 */
export function provideCluster(settings: Settings = {}): () => Cluster {
  const ends: (() => Promise<unknown>)[] = [];
  let cluster: Cluster | undefined;
  beforeAll(async () => {
    cluster = await startCluster(settings, (end) => void ends.push(end));
  });
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });
  return () => {
    if (cluster === undefined) throw new Error('the instances start before the first test');
    return cluster;
  };
}
