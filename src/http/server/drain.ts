import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { atMost } from '../../platform/at-most.ts';

/** Running requests get as long to finish (contract section 8). */
const LIMIT_MS = 10_000;
const IDLE_CHECK_MS = 50;

export interface DrainOptions {
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
 * for a while: the next request on each is answered, and closes it. Only those that nobody has used are closed.
 */
export async function drain(server: Server, { graceMs, onDeaf }: DrainOptions): Promise<void> {
  // The clients that have connected by now are accepted first.
  await nextTurn();
  // http.Server's close() would close idle connections at once, and stop enforcing the time limits of requests.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  onDeaf();
  const startedMs = performance.now();
  await atMost(graceMs, closed);
  const closing = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  await atMost(LIMIT_MS - (performance.now() - startedMs), closed);
  clearInterval(closing);
  server.closeAllConnections();
}
