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

/** As many as the system allows: thousands of clients may connect at once. Node asks for 511. */
const LISTEN_BACKLOG = 65_535;

/** What to do about an error of listening, by Node's error code. */
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
 * Tells before anything is created whether `listen` can work, by listening for a moment. Whoever connects in that
 * moment is disconnected. Throws OperatorError.
 */
export async function requireFreePort(place: Place): Promise<void> {
  const server = createServer((socket) => socket.destroy());
  await bind(server, place, {});
  server.close();
  await once(server, 'close');
}

/** Listens. Resolves to the origin. Throws OperatorError. */
export async function listen(server: Server, place: Place): Promise<string> {
  await bind(server, place, { backlog: LISTEN_BACKLOG });
  const bound = server.address() as AddressInfo;
  return ownOrigin({ host: place.host, port: bound.port });
}

/** A flood of connections must not be one of lines. */
const LINES_PER_MINUTE = 10;

interface ConnectionLimitOptions {
  /** How many connections fit; undefined if that is not known. */
  readonly most: number | undefined;
  readonly log: Logger;
}

/**
 * Closes connections that are one too many at once, before the process runs out of file descriptors: those that are left
 * are for the database and for files. Node says nothing of connections that the system rejects for want of descriptors.
 */
export function limitConnections(server: Server, { most, log }: ConnectionLimitOptions): { close(): void } {
  const lines = createLogRateLimiter({ log, event: 'http.connection_rejected', maximum: LINES_PER_MINUTE });
  if (most !== undefined) server.maxConnections = most;
  server.on('drop', (dropped) => {
    lines.emit({ peer: dropped?.remoteAddress, limit: most });
  });
  // Without a listener, the error would end the process.
  server.on('error', (error) => lines.emit({ err: error }));
  return { close: lines.close };
}

/** Running requests get as long to finish (contract section 8). */
const LIMIT_MS = 10_000;
const IDLE_CHECK_MS = 50;

interface DrainOptions {
  /** For how long idle connections stay open, in milliseconds. */
  readonly graceMs: number;
  /** Called once no new connection can arrive. */
  readonly onDeaf: () => void;
}

/**
 * Stops listening, lets the running requests finish and closes every connection. From `onDeaf` on, responses must
 * tell their clients to close the connection. Never rejects.
 *
 * Closing an idle connection loses the request that its client may just be sending. So idle connections stay open
 * for a while: the next request on each gets its response, which closes the connection. Only those that nobody has used are closed.
 */
export async function drain(server: Server, { graceMs, onDeaf }: DrainOptions): Promise<void> {
  // The clients that have connected by now are accepted first.
  await nextLoopIteration();
  // http.Server's close() would close idle connections at once, and stop enforcing the time limits of requests.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  onDeaf();
  const startedMs = performance.now();
  await withTimeout(graceMs, closed);
  const closing = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  await withTimeout(LIMIT_MS - (performance.now() - startedMs), closed);
  clearInterval(closing);
  server.closeAllConnections();
}
