import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type GraphQLResponse, type GraphqlOptions, graphqlPost, readResponse } from '../graphql.ts';
import type { Parsed } from '../parsed.ts';
import { type Exit, type Process, ROOT, runScript, type Settings } from './process.ts';

/** The service in a process of its own, and how to call it. */
export interface ServerProcess extends Process {
  readonly origin: string;
  gql(query: string, options?: GraphqlOptions): Promise<GraphQLResponse>;
}

/** Settings with which production starts. Its standard output is JSON, with the URL in the line "service.started". */
export function productionSettings(): Settings {
  return {
    NODE_ENV: 'production',
    SECRET_KEY: randomBytes(48).toString('base64'),
    PUBLIC_URL: 'https://api.example.com',
    SHUTDOWN_DELAY_SECONDS: '0',
  };
}

/** Starts the service and leaves it to the test what comes of it. */
export function launchServer(dataDir: string, settings: Settings = {}): Process {
  return runScript('src/main.ts', [], { DATA_DIR: dataDir, PORT: '0', ...settings });
}

/** Starts the service on a folder and a free port; resolves once it listens. */
export async function startServer(dataDir: string, settings: Settings = {}): Promise<ServerProcess> {
  const launched = launchServer(dataDir, settings);
  const said =
    settings.NODE_ENV === 'production'
      ? /"url":"(http:\/\/[^"]+)"/
      : /Content Graph API\s+(http:\/\/\S+)\/graphql[\s\S]*\n\n/;
  // Requests go to the address it listens on, whatever else a name may lead to.
  const origin = ((await launched.printed(said))[1] ?? '').replace('//localhost:', '//127.0.0.1:');
  return Object.assign(Object.create(launched) as Process, {
    origin,
    gql: async (query: string, options?: GraphqlOptions) =>
      readResponse(await fetch(`${origin}/graphql`, graphqlPost(query, options))),
  });
}

/** The demo key that a first start in development has left in its folder. */
export async function demoKey(dataDir: string): Promise<string> {
  const { apiKey } = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8')) as { apiKey: string };
  return apiKey;
}

/** What an admin command printed, read as JSON; undefined where it printed nothing. */
export interface AdminResult extends Exit {
  readonly json: Parsed;
}

/** Runs an admin command to its end, with `input` on its standard input. */
export async function admin(
  args: readonly string[],
  dataDir: string,
  settings: Settings = {},
  input?: string,
): Promise<AdminResult> {
  const exit = await runScript('src/admin/main.ts', args, { DATA_DIR: dataDir, ...settings }, ROOT, input)
    .exited;
  return { ...exit, json: exit.stdout === '' ? undefined : JSON.parse(exit.stdout) };
}
