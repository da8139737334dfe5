import type { Profiler } from 'node:inspector/promises';
import { resolve } from 'node:path';
import type { Report, Wish } from '../servers/child.ts';
import { type ChildOptions, endChild, nextMessage, spawnChild } from './child-process.ts';

/** What a server process says of itself. */
export type Usage = Omit<Extract<Report, { kind: 'usage' }>, 'kind'>;
export type Memory = Omit<Extract<Report, { kind: 'memory' }>, 'kind'>;

export interface ServerProcess {
  readonly pid: number;
  readonly port: number;
  usage(): Promise<Usage>;
  /** What is left after a collection; needs `--expose-gc`. */
  memory(): Promise<Memory>;
  /** What V8's profiler sees of the process while something else goes on. */
  profile(meanwhile: () => Promise<void>): Promise<Profiler.Profile>;
  /** Lets the process end by itself, closing what it has open. */
  stop(): Promise<void>;
}

export interface ServerOptions extends ChildOptions {
  /** A file of bench/servers, or the whole path of another checkout's. */
  readonly file: string;
  readonly env: Readonly<Record<string, string>>;
}

const START_LIMIT_MS = 60_000;

/** Starts a server and waits until it listens. */
export async function startServer({ file, ...options }: ServerOptions): Promise<ServerProcess> {
  const child = spawnChild({ ...options, file: resolve(import.meta.dirname, '../servers', file) });
  const wish = (message: Wish) => child.send(message);
  const next = <Kind extends Report['kind']>(kind: Kind) =>
    nextMessage<Report, Kind>(child, [kind], START_LIMIT_MS);
  try {
    const { port } = await next('ready');
    return {
      pid: child.pid as number,
      port,
      async usage() {
        const response = next('usage');
        wish({ kind: 'usage' });
        return response;
      },
      async memory() {
        const response = next('memory');
        wish({ kind: 'memory' });
        return response;
      },
      async profile(meanwhile) {
        const started = next('profiling');
        wish({ kind: 'profile-start' });
        await started;
        await meanwhile();
        const response = next('profile');
        wish({ kind: 'profile-stop' });
        return (await response).profile;
      },
      stop: () => endChild(child, () => wish({ kind: 'stop' })),
    };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}
