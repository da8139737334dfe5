import type { Server } from 'node:http';
import { type Profiler, Session } from 'node:inspector/promises';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** What the bench asks of a server process. */
export type Wish = { readonly kind: 'usage' | 'memory' | 'stop' | 'profile-start' | 'profile-stop' };

/** What a server process tells the bench. */
export type Report =
  | { readonly kind: 'ready'; readonly port: number }
  | {
      readonly kind: 'usage';
      /** User and system time of all threads, in milliseconds. */
      readonly cpuMs: number;
      /** SQL statements so far; 0 where they are not counted. */
      readonly statements: number;
    }
  | {
      readonly kind: 'memory';
      /** Resident memory after a collection. */
      readonly rssBytes: number;
      /** What of the heap is alive. */
      readonly heapBytes: number;
    }
  | { readonly kind: 'profiling' }
  | { readonly kind: 'profile'; readonly profile: Profiler.Profile };

export interface AttendOptions {
  /** Where the server listens. */
  readonly port: number;
  readonly close: () => Promise<void>;
  readonly statements?: () => number;
}

export interface ServeOptions extends Omit<AttendOptions, 'port'> {
  readonly server: Server;
}

export const POOL_SIZE = 10;
const KEEP_ALIVE_TIMEOUT_MS = 120_000;
const COLLECTIONS = 3;
const COLLECTION_PAUSE_MS = 100;

/** An environment variable that the bench has set. */
export function given(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

/** Once the bench has died or given up, nobody would stop this process any more. */
process.on('disconnect', () => process.exit(1));

const inspector = new Session();

async function startProfile(): Promise<void> {
  inspector.connect();
  await inspector.post('Profiler.enable');
  await inspector.post('Profiler.start');
}

async function stopProfile(): Promise<Profiler.Profile> {
  const { profile } = await inspector.post('Profiler.stop');
  inspector.disconnect();
  return profile;
}

/** What is left once nothing more can be collected: finalizers let go of more after the first time. */
async function measureMemory(): Promise<Report> {
  if (globalThis.gc === undefined) throw new Error('memory can only be measured with --expose-gc');
  for (let turn = 0; turn < COLLECTIONS; turn += 1) {
    globalThis.gc();
    await delay(COLLECTION_PAUSE_MS);
  }
  const { rss, heapUsed } = process.memoryUsage();
  return { kind: 'memory', rssBytes: rss, heapBytes: heapUsed };
}

/** Answers the bench until it says stop. */
export function attend({ port, close, statements = () => 0 }: AttendOptions): void {
  const report = (message: Report) => process.send?.(message);
  const stop = () => {
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`${String(error)}\n`);
        process.exit(1);
      },
    );
  };
  process.on('message', ({ kind }: Wish) => {
    if (kind === 'stop') return stop();
    if (kind === 'memory') return void measureMemory().then(report);
    if (kind === 'profile-start') return void startProfile().then(() => report({ kind: 'profiling' }));
    if (kind === 'profile-stop')
      return void stopProfile().then((profile) => report({ kind: 'profile', profile }));
    const { user, system } = process.cpuUsage();
    report({ kind: 'usage', cpuMs: (user + system) / 1000, statements: statements() });
  });
  if (!process.connected) process.exit(1);
  report({ kind: 'ready', port });
}

/** Listens on a free port of the loopback interface and answers the bench until it says stop. */
export async function serve({ server, close, ...rest }: ServeOptions): Promise<void> {
  // At a low rate some connections rest for longer than the five seconds that Node gives them.
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  attend({
    ...rest,
    port: (server.address() as AddressInfo).port,
    close() {
      server.closeAllConnections();
      server.close();
      return close();
    },
  });
}
