import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, createServer, type ListenOptions, Server as NetServer } from 'node:net';
import { setImmediate as nextLoopIteration } from 'node:timers/promises';
import { type Config, ownOrigin } from '../../platform/config/config.ts';
import { withTimeout } from '../../platform/deadline.ts';
import { OperatorError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/log/log.ts';
import { createLogRateLimiter } from '../../platform/log/log-limits.ts';

type Place = Pick<Config, 'host' | 'port'>;

/** Thousands of clients may connect at the same time, but Node's default is 511. The system may allow fewer. */
const LISTEN_BACKLOG = 65_535;

const LISTEN_ADVICE: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there, so stop it or set PORT to another port',
  EACCES: 'the user of the service may not listen there, so set PORT to 1024 or above',
  EADDRNOTAVAIL: 'HOST must be an IP address of this machine, such as 127.0.0.1 or 0.0.0.0',
  ENOTFOUND: 'HOST must be an IP address or a known host name of this machine',
  EAI_AGAIN: 'HOST must be an IP address or a known host name of this machine',
};

function listenError({ host, port }: Place, error: NodeJS.ErrnoException): OperatorError {
  const advice = LISTEN_ADVICE[error.code ?? ''] ?? `correct HOST or PORT: ${error.message}`;
  return new OperatorError(
    `The service cannot listen on HOST=${host}, PORT=${port}: ${advice} (${error.code}).`,
  );
}

async function bind(server: NetServer, place: Place, options: ListenOptions): Promise<void> {
  server.listen({ ...options, host: place.host, port: place.port });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw listenError(place, error as NodeJS.ErrnoException);
  }
}

/**
 * Listens briefly, so that a taken port is reported before anything is created. A client that connects during the
 * check is disconnected.
 * @throws {OperatorError}
 */
export async function requireFreePort(place: Place): Promise<void> {
  const server = createServer((socket) => socket.destroy());
  await bind(server, place, {});
  server.close();
  await once(server, 'close');
}

/**
 * @returns the origin
 * @throws {OperatorError}
 */
export async function listen(server: Server, place: Place): Promise<string> {
  await bind(server, place, { backlog: LISTEN_BACKLOG });
  const bound = server.address() as AddressInfo;
  return ownOrigin({ host: place.host, port: bound.port });
}

/** A flood of connections must not become a flood of log lines. */
const LINES_PER_MINUTE = 10;

interface ConnectionLimitOptions {
  readonly most: number | undefined;
  readonly log: Logger;
}

/**
 * Excess connections are closed immediately, before the process runs out of file descriptors. The remaining
 * descriptors are for the database and for files. Node does not report connections that the system rejects for lack
 * of descriptors.
 */
export function limitConnections(server: Server, { most, log }: ConnectionLimitOptions): { close(): void } {
  const lines = createLogRateLimiter({ log, event: 'http.connection_rejected', maximum: LINES_PER_MINUTE });
  if (most !== undefined) server.maxConnections = most;
  server.on('drop', (dropped) => {
    lines.emit({ peer: dropped?.remoteAddress, limit: most });
  });
  // Without a listener, the error would exit the process.
  server.on('error', (error) => lines.emit({ err: error }));
  return { close: lines.close };
}

/** Running requests get this long to finish (contract: graceful shutdown). */
const LIMIT_MS = 10_000;
const IDLE_CHECK_MS = 50;

/** A flood of connections must not delay the shutdown. */
const MAX_ACCEPT_ITERATIONS = 1_000;

/**
 * Accepts the connections in the queue of the system. Closing the server resets them, and their clients lose a request
 * that they may have sent. libuv accepts one connection in each iteration of the loop.
 */
async function acceptQueued(server: Server): Promise<void> {
  let quietIterations = 0;
  const onConnection = () => {
    quietIterations = 0;
  };
  server.on('connection', onConnection);
  // The rest of the iteration that calls this function accepts nothing.
  for (let count = 0; quietIterations < 2 && count < MAX_ACCEPT_ITERATIONS; count += 1) {
    quietIterations += 1;
    await nextLoopIteration();
  }
  server.off('connection', onConnection);
}

interface DrainOptions {
  /** Idle connections stay open for this long. */
  readonly graceMs: number;
  readonly onDeaf: () => void;
}

/**
 * Stops listening, lets running requests finish and closes every connection. After `onDeaf`, responses must tell
 * clients to close the connection. The promise never rejects.
 * Closing an idle connection loses a request that its client may be sending. So idle connections stay open for a
 * while, and the response to the next request closes each connection. Only unused connections are closed.
 */
export async function drain(server: Server, { graceMs, onDeaf }: DrainOptions): Promise<void> {
  await acceptQueued(server);
  // http.Server's close() would close idle connections immediately and stop enforcing the time limits of requests.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  onDeaf();
  const startedMs = performance.now();
  await withTimeout(graceMs, closed);
  const closing = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  await withTimeout(LIMIT_MS - (performance.now() - startedMs), closed);
  clearInterval(closing);
  server.closeAllConnections();
}
