import type { Server } from 'node:http';
import { createLineLimit } from '../../platform/line-limit.ts';
import type { Logger } from '../../platform/log.ts';

/** A flood of connections must not be one of lines. */
const LINES_PER_MINUTE = 10;

export interface ConnectionLimitOptions {
  /** How many connections fit; undefined if that is not known. */
  readonly most: number | undefined;
  readonly log: Logger;
}

/**
 * Closes connections that are one too many at once, before the process runs out of file descriptors: those that are left
 * are for the database and for files. Node says nothing of connections that the system refuses for want of descriptors.
 */
export function limitConnections(server: Server, { most, log }: ConnectionLimitOptions): { close(): void } {
  const what = 'a connection could not be accepted';
  const lines = createLineLimit({ log, maximum: LINES_PER_MINUTE, what });
  if (most !== undefined) server.maxConnections = most;
  server.on('drop', (dropped) => {
    lines.warn({ peer: dropped?.remoteAddress, most }, 'a connection could not be accepted');
  });
  // Without a listener, the error would end the process.
  server.on('error', (error) => lines.warn({ err: error }, 'a connection could not be accepted'));
  return { close: lines.close };
}
