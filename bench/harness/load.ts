import { Connection } from './connection.ts';

/** What a load generator saw. Latencies in milliseconds, sorted. */
export interface Load {
  readonly count: number;
  readonly elapsedMs: number;
  readonly latencies: Float64Array;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly perSecond: number;
}

/** Sent one after another, again from the start when they are through; or made, each when it is due. */
export type Requests = readonly Buffer[] | (() => Buffer);

export interface LoadOptions {
  readonly port: number;
  readonly requests: Requests;
  readonly connections: number;
  readonly durationMs: number;
  /** Looks at each response; what it throws ends the run. By default anything but data does. */
  readonly check?: (status: number, body: Buffer) => void;
}

const ERRORS = Buffer.from('"errors"');

/** The value that a share `q` of the sorted ones does not pass (nearest rank). */
export function quantile(sorted: ArrayLike<number>, q: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * q) - 1)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}

function summary(latencies: number[], elapsedMs: number): Load {
  const sorted = Float64Array.from(latencies).sort();
  return {
    count: sorted.length,
    elapsedMs,
    latencies: sorted,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    perSecond: (sorted.length / elapsedMs) * 1000,
  };
}

/** A figure of rejections would look splendid: anything but data ends the run. */
function checkData(status: number, body: Buffer): void {
  if (status === 200 && !body.includes(ERRORS)) return;
  throw new Error(`answered with ${status}: ${body.toString('utf8', 0, 500)}`);
}

/** What gives one request after the other. */
export function inTurn(requests: Requests): () => Buffer {
  if (typeof requests === 'function') return requests;
  let next = 0;
  return () => requests[next++ % requests.length] as Buffer;
}

function openAll(count: number, port: number, onError: (error: Error) => void): Promise<Connection[]> {
  return Promise.all(Array.from({ length: count }, () => Connection.open(port, onError)));
}

/** Each connection sends its next request when the last one is answered: what the server can do at most. */
export async function closedLoop({
  port,
  requests,
  connections,
  durationMs,
  check = checkData,
}: LoadOptions): Promise<Load> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const opened = await openAll(connections, port, reject);
  const latencies: number[] = [];
  const startMs = performance.now();
  const endMs = startMs + durationMs;
  const next = inTurn(requests);
  let running = opened.length;
  const again = (connection: Connection) => {
    const sentMs = performance.now();
    if (sentMs >= endMs) {
      running -= 1;
      if (running === 0) resolve();
      return;
    }
    connection.send(next(), (status, body) => {
      latencies.push(performance.now() - sentMs);
      try {
        check(status, body);
      } catch (error) {
        return reject(error);
      }
      again(connection);
    });
  };
  for (const connection of opened) again(connection);
  try {
    await promise;
    return summary(latencies, performance.now() - startMs);
  } finally {
    for (const connection of opened) connection.close();
  }
}

/** So much is made up for at once where the generator itself was held up. */
const MAX_LATE_MS = 2;

/**
 * Requests at a fixed rate, whatever the server does. One that finds no connection free waits for it, and its time
 * counts from when it was due: a server that stalls cannot hide it (coordinated omission). What the generator was too
 * late with, because it got no processor, is left out: a burst that nobody asked for would be told of the server.
 */
export async function openLoop({
  port,
  requests,
  connections,
  durationMs,
  perSecond,
  check = checkData,
}: LoadOptions & { readonly perSecond: number }): Promise<Load> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const opened = await openAll(connections, port, reject);
  const free = [...opened];
  const waiting: number[] = [];
  const latencies: number[] = [];
  const intervalMs = 1000 / perSecond;
  const startMs = performance.now();
  const endMs = startMs + durationMs;
  let nextMs = startMs;
  let asked = 0;
  const next = inTurn(requests);
  const ended = () => nextMs >= endMs && latencies.length === asked;
  const send = (connection: Connection, dueMs: number) => {
    connection.send(next(), (status, body) => {
      latencies.push(performance.now() - dueMs);
      try {
        check(status, body);
      } catch (error) {
        return reject(error);
      }
      const waitingMs = waiting.shift();
      if (waitingMs !== undefined) send(connection, waitingMs);
      else free.push(connection);
      if (ended()) resolve();
    });
  };
  const timer = setInterval(() => {
    const nowMs = performance.now();
    nextMs = Math.max(nextMs, nowMs - MAX_LATE_MS);
    for (; nextMs <= nowMs && nextMs < endMs; nextMs += intervalMs) {
      asked += 1;
      // In turn: one that is idle for long would be closed.
      const connection = free.shift();
      if (connection === undefined) waiting.push(nowMs);
      else send(connection, nowMs);
    }
    if (ended()) resolve();
  }, 1);
  try {
    await promise;
    return summary(latencies, performance.now() - startMs);
  } finally {
    clearInterval(timer);
    for (const connection of opened) connection.close();
  }
}

/** A response, and all of it as it was on the wire. */
export interface ResponseData {
  readonly status: number;
  readonly text: string;
  readonly received: Buffer;
}

/** One request on a connection of its own. */
export async function once(port: number, request: Buffer): Promise<ResponseData> {
  const { promise, resolve, reject } = Promise.withResolvers<ResponseData>();
  const connection = await Connection.open(port, reject);
  connection.send(request, (status, body, received) =>
    resolve({ status, text: body.toString(), received: Buffer.from(received) }),
  );
  try {
    return await promise;
  } finally {
    connection.close();
  }
}
