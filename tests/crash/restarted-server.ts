import type { Settings } from '../support/processes/process.ts';
import { type ServerProcess, startServer } from '../support/processes/server.ts';
import type { Target } from './keyed-posts.ts';

/** One server after the other on the same database. */
export interface RestartedServer extends Target {
  /** Kills the server as it is, and starts the next after `meanwhile`. Resolves once that listens. */
  crash(meanwhile?: () => Promise<unknown>): Promise<void>;
  /** Does something while no server runs. */
  whileStopped<T>(work: () => Promise<T>): Promise<T>;
}

export async function restartedServer(dataDir: string, settings: Settings): Promise<RestartedServer> {
  const start = () => startServer(dataDir, settings);
  let current: Promise<ServerProcess> = start();
  await current;

  async function end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const server = await current;
    server.kill(signal);
    await server.exited;
  }

  return {
    origin: async () => (await current).origin,
    async crash(meanwhile = async () => undefined) {
      const ended = end('SIGKILL');
      current = ended.then(meanwhile).then(start);
      await current;
    },
    async whileStopped(work) {
      const ended = end('SIGTERM');
      const worked = ended.then(work);
      current = worked.then(start);
      await current;
      return worked;
    },
  };
}
