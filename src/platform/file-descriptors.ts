import type { Logger } from './log.ts';

/** For files, the event loop, the log, Redis, LISTEN, and connections that are being replaced. */
const OWN = 64;
/** What the embedded database keeps open of its tables and indexes. */
export const EMBEDDED_FILES = 256;
/** Connections of clients however low the limit is: with fewer, nobody could use the service. */
const FEWEST_CLIENTS = 16;

interface Report {
  readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } };
}

/** How many file descriptors the process may have open; undefined if there is no limit or it is not known. */
function limitOf(): number | undefined {
  const { userLimits } = process.report.getReport() as Report;
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : undefined;
}

/**
 * Returns for how many connections of clients there are file descriptors beside those of the database; undefined if the
 * limit is not known. Warns at start if these are fewer than `clients`.
 */
export function checkFileDescriptors(
  log: Logger,
  needed: { database: number; clients: number },
): number | undefined {
  const limit = limitOf();
  if (limit === undefined) return undefined;
  const enough = needed.database + needed.clients + OWN;
  if (limit < enough) log.warn({ limit, enough }, 'too few file descriptors: raise the limit of open files');
  return Math.max(FEWEST_CLIENTS, limit - needed.database - OWN);
}
