import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { openLoop } from '../harness/load.ts';
import { Statuses } from './statuses.ts';

export interface FloodOptions {
  readonly port: number;
  /** The request, as bytes on the wire. */
  readonly bytes: Uint8Array;
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
 * Sends one request at a fixed rate from a thread of its own: what a flood of large answers costs the generator must
 * not be told of the server, whose keyed client is measured beside it.
 */
export async function flood(options: FloodOptions): Promise<Flood> {
  const worker = new Worker(new URL(import.meta.url), { workerData: options });
  const [{ perSecond, counts }] = (await once(worker, 'message')) as [Told];
  await worker.terminate();
  return { perSecond, statuses: new Statuses(counts) };
}

if (!isMainThread && parentPort !== null) {
  const { bytes, ...options } = workerData as FloodOptions;
  const statuses = new Statuses();
  const { perSecond } = await openLoop({ ...options, requests: [Buffer.from(bytes)], check: statuses.add });
  parentPort.postMessage({ perSecond, counts: statuses.entries() } satisfies Told);
}
