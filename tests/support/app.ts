import type { GraphQLSchema } from 'graphql';
import { afterAll, beforeAll } from 'vitest';
import { createYogaOf } from '../../examples/yoga.ts';
import { type App, type AppOptions, createApp } from '../../src/app/create-app.ts';
import { createAccount } from '../../src/auth/accounts.ts';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { type Role, type Scope, scopesOfRole } from '../../src/auth/scopes.ts';
import { connectDatabase, type Database } from '../../src/database/database.ts';
import { openServer } from '../../src/database/server.ts';
import { developmentRoutes } from '../../src/features/development/routes.ts';
import type { PrismaClient } from '../../src/generated/prisma/client.ts';
import type { ServicePlugin } from '../../src/http/lifecycle.ts';
import type { YogaPlugin } from '../../src/http/yoga/yoga-host.ts';
import { type Config, loadConfig } from '../../src/platform/config/config.ts';
import type { Clock } from '../../src/platform/deadline.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { openTracing } from '../../src/platform/tracing/open-tracing.ts';
import { createTestDatabase, type TestDatabase } from './database/database.ts';
import type { WorldSettings } from './database/drawn-world.ts';
import { openPrisma } from './database/prisma.ts';
import { type GraphQLResponse, type GraphqlOptions, graphqlPost, readResponse } from './graphql.ts';
import { READING } from './reading-plugin.ts';
import { AMPLE_TIMEOUTS, UNTHROTTLED } from './settings.ts';
import { holdTimers } from './time/timers.ts';

export const ORIGIN = 'http://127.0.0.1:4000';

export interface Account {
  readonly id: string;
  readonly email: string;
  readonly key: string;
}

interface AccountOptions {
  readonly role?: Role;
  readonly scopes?: readonly Scope[];
  readonly name?: string;
}

/** The service on a database of its own, and what a test needs to call it. */
export interface TestApp {
  readonly app: App;
  readonly config: Config;
  readonly database: Database;
  /** To look past the API, and to put there what it would reject. */
  readonly prisma: PrismaClient;
  /** Every line that the service has logged. */
  readonly logged: string[];
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>;
  /** Posts a GraphQL request and reads the response. */
  gql(query: string, options?: GraphqlOptions): Promise<GraphQLResponse>;
  /** Makes an account with an API key of the scopes given, or of all that its role can hold. */
  account(options?: AccountOptions): Promise<Account>;
}

export interface TestAppOptions {
  readonly settings?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
  readonly schema?: GraphQLSchema;
  readonly yogaPlugins?: readonly YogaPlugin[];
  readonly plugins?: readonly ServicePlugin[];
}

/** Options of an app with its database. */
export interface UseAppOptions extends TestAppOptions {
  /** Settings of the database that are not drawn. */
  readonly world?: WorldSettings;
}

const MINUTE_MS = 60_000;

const HOST = process.env.TEST_HOST;

/** With `TEST_HOST=yoga`, Yoga handles all requests, and a plugin sees all results. */
const PLUGINS = HOST === 'yoga' ? { yogaPlugins: [READING] } : {};

/** With `TEST_HOST=example`, the Yoga server of `examples/yoga.ts` handles the requests of GraphQL. */
function hosted(app: App): App {
  if (HOST !== 'example') return app;
  const yoga = createYogaOf(app);
  return {
    ...app,
    fetch: async (request, incomingRequest) =>
      new URL(request.url).pathname === yoga.graphqlEndpoint
        ? yoga.fetch(request, { req: { socket: { remoteAddress: incomingRequest?.peerAddress } } })
        : app.fetch(request, incomingRequest),
  };
}

let accounts = 0;

/**
 * Creates an app whose jobs and check of the clock, which run once a minute, do not run by themselves. A test that
 * needs them runs them itself.
 */
export function createTestApp(options: AppOptions): App {
  const timers = holdTimers(MINUTE_MS / 2);
  try {
    return hosted(createApp({ ...PLUGINS, ...options }));
  } finally {
    timers.release();
  }
}

/** Starts the service on a database, which goes with it. */
export async function startApp(
  testDatabase: TestDatabase,
  { settings = {}, clock, schema, yogaPlugins, plugins = [] }: TestAppOptions = {},
): Promise<TestApp & { stop(): Promise<void> }> {
  const logged: string[] = [];
  const log = createLogger({
    level: 'debug',
    pretty: false,
    destination: { write: (line) => void logged.push(line) },
  });
  const config = loadConfig({
    NODE_ENV: 'test',
    ...UNTHROTTLED,
    ...AMPLE_TIMEOUTS,
    ...testDatabase.settings,
    ...settings,
  });
  const server = await openServer({ config, log });
  const database = connectDatabase(config.database.kind, server, log);
  const own = openPrisma(server);
  const tracing = await openTracing(config.tracing, 'test', log);
  const app = createTestApp({
    config,
    database,
    log,
    plugins,
    routes: config.environment === 'development' ? developmentRoutes(config) : [],
    tracing,
    ...(clock === undefined ? {} : { clock }),
    ...(schema === undefined ? {} : { schema }),
    ...(yogaPlugins === undefined ? {} : { yogaPlugins }),
  });
  const fetch = (path: string, init?: RequestInit) => app.fetch(new Request(new URL(path, ORIGIN), init));
  return {
    app,
    config,
    database,
    prisma: own.prisma,
    logged,
    fetch,
    gql: async (query, options) => readResponse(await fetch('/graphql', graphqlPost(query, options))),
    async account({ role = 'member', scopes = scopesOfRole(role), name = 'Someone' } = {}) {
      accounts += 1;
      const email = `user${accounts}@example.com`;
      const { id } = await createAccount(database, { name, email, role });
      const { key } = await createApiKey(database, { userId: id, name: 'test', scopes });
      return { id, email, key };
    },
    async stop() {
      await app.close();
      await own.close();
      await database.close();
      await testDatabase.drop();
    },
  };
}

/** Starts the service for the tests of a file or a `describe`, and stops it after them. Read it inside tests only. */
export function useApp({ world = {}, ...options }: UseAppOptions = {}): TestApp {
  const holder = {} as TestApp;
  let stop = async () => {};
  beforeAll(async () => {
    const started = await startApp(await createTestDatabase({ world }), options);
    stop = started.stop;
    Object.assign(holder, started);
  });
  afterAll(() => stop());
  return holder;
}

/** Makes an account before the tests of a file or a `describe`. Read it inside tests only. */
export function useAccount(app: TestApp, options?: AccountOptions): Account {
  const holder = {} as Account;
  beforeAll(async () => {
    Object.assign(holder, await app.account(options));
  });
  return holder;
}
