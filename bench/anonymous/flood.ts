import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { openLoop } from '../harness/load.ts';
import { Statuses } from './statuses.ts';

export interface FloodOptions {
  readonly port: number;
  /** The requests, as bytes on the wire, which are sent in turn. */
  readonly requests: readonly Uint8Array[];
  readonly connections: number;
  readonly perSecond: number;
  readonly durationMs: number;
}

interface Told {
  readonly perSecond: number;
  readonly counts: [number, number][];
}

export interface Flood {
  readonly perSecond: number;
  readonly statuses: Statuses;
}

/**
 * Sends requests at a fixed rate from a thread of its own: what a flood of large answers costs the generator must
 * not be told of the server, whose keyed client is measured beside it.
 */
export async function flood(options: FloodOptions): Promise<Flood> {
  const worker = new Worker(new URL(import.meta.url), { workerData: options });
  const [{ perSecond, counts }] = (await once(worker, 'message')) as [Told];
  await worker.terminate();
  return { perSecond, statuses: new Statuses(counts) };
}

if (!isMainThread && parentPort !== null) {
  const { requests, ...options } = workerData as FloodOptions;
  const statuses = new Statuses();
  const { perSecond } = await openLoop({
    ...options,
    requests: requests.map((bytes) => Buffer.from(bytes)),
    check: statuses.add,
  });
  parentPort.postMessage({ perSecond, counts: statuses.entries() } satisfies Told);
}
