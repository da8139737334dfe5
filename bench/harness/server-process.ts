import { type ChildProcess, spawn } from 'node:child_process';
import type { Profiler } from 'node:inspector/promises';
import { resolve } from 'node:path';
import type { Report, Wish } from '../servers/child.ts';

/** What a server process says of itself. */
export type Usage = Omit<Extract<Report, { kind: 'usage' }>, 'kind'>;

export interface ServerProcess {
  readonly pid: number;
  readonly port: number;
  usage(): Promise<Usage>;
  /** What V8's profiler sees of the process while something else goes on. */
  profile(meanwhile: () => Promise<void>): Promise<Profiler.Profile>;
  /** Lets the process end by itself, closing what it has open. */
  stop(): Promise<void>;
}

export interface ServerOptions {
  /** A file of bench/servers, or the whole path of another checkout's. */
  readonly file: string;
  readonly args?: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const START_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 15_000;
/** What a child may see of this process: no setting of the product that happens to be set here. */
const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'LANG'];

function next<Kind extends Report['kind']>(
  child: ChildProcess,
  kind: Kind,
  limitMs: number,
): Promise<Extract<Report, { kind: Kind }>> {
  return new Promise((resolve, reject) => {
    const end = (finish: () => void) => {
      clearTimeout(timer);
      child.off('message', onMessage).off('exit', onExit).off('error', onError);
      finish();
    };
    const onMessage = (message: Report) => {
      if (message.kind === kind) end(() => resolve(message as Extract<Report, { kind: Kind }>));
    };
    const onError = (error: Error) => end(() => reject(error));
    const onExit = (code: number | null, signal: string | null) =>
      onError(
        new Error(`${child.spawnfile} ${child.spawnargs.slice(1).join(' ')} ended with ${code ?? signal}`),
      );
    const timer = setTimeout(() => onError(new Error(`no "${kind}" within ${limitMs} ms`)), limitMs);
    child.on('message', onMessage).on('exit', onExit).on('error', onError);
  });
}

/** Starts a server and waits until it listens. Its log goes to /dev/null, written by it all the same. */
export async function startServer({ file, args = [], env }: ServerOptions): Promise<ServerProcess> {
  const inherited = Object.fromEntries(INHERITED.map((name) => [name, process.env[name]]));
  const child = spawn(process.execPath, [resolve(import.meta.dirname, '../servers', file), ...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...inherited, ...env },
  });
  const wish = (message: Wish) => child.send(message);
  try {
    const { port } = await next(child, 'ready', START_LIMIT_MS);
    return {
      pid: child.pid as number,
      port,
      async usage() {
        const answer = next(child, 'usage', START_LIMIT_MS);
        wish({ kind: 'usage' });
        return answer;
      },
      async profile(meanwhile) {
        const started = next(child, 'profiling', START_LIMIT_MS);
        wish({ kind: 'profile-start' });
        await started;
        await meanwhile();
        const answer = next(child, 'profile', START_LIMIT_MS);
        wish({ kind: 'profile-stop' });
        return (await answer).profile;
      },
      async stop() {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const exited = new Promise((resolve) => child.once('exit', resolve));
        const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
        wish({ kind: 'stop' });
        await exited;
        clearTimeout(timer);
      },
    };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}
