import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { freePort } from '../../scripts/cluster/processes.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import type { Settings } from '../support/processes/process.ts';
import { type ServerProcess, startServer } from '../support/processes/server.ts';

const SETTINGS = { RATE_LIMIT_BURST: '10000', SHUTDOWN_DELAY_SECONDS: '0', CREDENTIAL_RECHECK_MS: '250' };

/** A server in a process of its own, and a key for it. */
export interface LiveService {
  readonly origin: string;
  readonly url: string;
  readonly key: string;
  readonly headers: { readonly authorization: string };
  /** Of the demo accounts. */
  readonly password: string;
  readonly dataDir: string;
  /** Runs an operation without a client library. */
  query(query: string, variables?: Record<string, unknown>): ReturnType<ServerProcess['gql']>;
  /** Creates posts with these titles, one after the other. */
  create(...titles: string[]): Promise<void>;
  end(signal: NodeJS.Signals): Promise<void>;
  /** Starts it again after its end, on the same folder and port. */
  start(): Promise<void>;
  /** Ends the process, has another one on the same folder create posts that nobody hears of, and starts it again. */
  restart(signal: NodeJS.Signals, ...unheard: string[]): Promise<void>;
}

async function createPosts(server: ServerProcess, key: string, titles: readonly string[]): Promise<void> {
  for (const title of titles) {
    const { errors } = await server.gql(
      'mutation ($title: String!) { createPost(title: $title, body: "b", tags: ["told"]) { id } }',
      { key, variables: { title } },
    );
    expect(errors).toBeUndefined();
  }
}

async function end(server: ServerProcess, signal: NodeJS.Signals): Promise<void> {
  server.kill(signal);
  await server.exited;
}

export async function startService(settings: Settings = {}): Promise<LiveService> {
  const dataDir = await migratedFolder();
  const given = { ...SETTINGS, PORT: String(await freePort()), ...settings };
  let server = await startServer(dataDir, given);
  const { origin } = server;
  const demo = await readFile(join(dataDir, 'demo.json'), 'utf8');
  const { apiKey: key, password } = JSON.parse(demo) as { apiKey: string; password: string };
  const start = async () => {
    server = await startServer(dataDir, given);
  };
  return {
    origin,
    url: `${origin}/graphql`,
    key,
    headers: { authorization: `Bearer ${key}` },
    password,
    dataDir,
    query: (query, variables = {}) => server.gql(query, { key, variables }),
    create: (...titles) => createPosts(server, key, titles),
    end: (signal) => end(server, signal),
    start,
    restart: async (signal, ...unheard) => {
      await end(server, signal);
      const other = await startServer(dataDir, SETTINGS);
      await createPosts(other, key, unheard);
      await end(other, 'SIGTERM');
      await start();
    },
  };
}
