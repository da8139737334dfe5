import { setTimeout as delay } from 'node:timers/promises';
import { OperatorError } from '../platform/errors.ts';
import type { Logger } from '../platform/log/log.ts';
import type { LogEventCode } from '../platform/log/log-events.ts';
import { createLogRateLimiter, createOutageReporter } from '../platform/log/log-limits.ts';
import {
  findWriteRejection,
  getDatabaseErrorCode,
  isConnectionLimit,
  isOutage,
  isPanic,
  READ_ONLY,
  toDatabaseError,
} from './errors.ts';
import {
  checkConnection,
  DatabaseUnreachableError,
  messageOf,
  type ServerAddress,
  tryToWrite,
} from './preflight.ts';

export interface WatchOptions {
  /** The URL for requests, which alone decides whether the database is reachable. */
  readonly server: ServerAddress;
  /** The URL that bypasses a pooler, if there is one. The user of a direct connection logs its loss. */
  readonly direct?: ServerAddress | undefined;
  /** A supervisor restarts the server and logs outages, so that only writes are watched. */
  readonly isSupervised: boolean;
  readonly log: Logger;
  readonly onLook: (reachable: boolean) => void;
  /** True while requests have a connection. A server at its connection limit then counts as reachable. */
  readonly isConnected: () => boolean;
  /** Called if a new connection can write although an older connection could not. */
  readonly onWritable: () => void;
}

export type DatabaseWatch = ReturnType<typeof watchDatabase>;

const FIRST_PAUSE_MS = 100;
/** The contract promises an attempt to write every second (contract: outages). */
const LONGEST_PAUSE_MS = 1_000;
const LINES_PER_MINUTE = 10;

function describeError(error: unknown): Readonly<Record<string, unknown>> {
  const rejection = findWriteRejection(error);
  if (rejection !== undefined) return { ...rejection, error: messageOf(error) };
  if (error instanceof DatabaseUnreachableError) return { reason: error.reason, hint: error.hint };
  const { cause } = toDatabaseError(error);
  return { reason: cause == null ? 'the server ended the connection' : messageOf(cause) };
}

/** A timeout may pass, because the statement may only have waited for a lock. */
function mayPass(error: unknown): boolean {
  if (error instanceof OperatorError) return error instanceof DatabaseUnreachableError;
  return isOutage(error) || toDatabaseError(error).kind === 'timeout';
}

function rethrowUnlessUnreachable(error: unknown): void {
  if (!(error instanceof DatabaseUnreachableError)) throw error;
}

const doublePause = (ms: number): number => Math.min(2 * ms, LONGEST_PAUSE_MS);

/**
 * Tracks whether the database is reachable and writable. A failure that users of the database report causes a
 * check with a new connection, or an attempt to write if a write was rejected. Checks are repeated until the
 * outage ends.
 */
export function watchDatabase(options: WatchOptions) {
  const { server, direct, isSupervised, log, onLook, isConnected, onWritable } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const waiting = createOutageReporter(log, 'database.waiting', 'database.recovered');
  const unreachable = createOutageReporter(log, 'database.unreachable', 'database.recovered');
  const unwritable = createOutageReporter(log, 'database.not_writable', 'database.writable');
  const createLimit = (event: LogEventCode) =>
    createLogRateLimiter({ log, event, maximum: LINES_PER_MINUTE });
  const failedWrites = createLimit('database.write_failed');
  const lostConnections = createLimit('database.connection_lost');
  let isReachable = true;
  let rejected: unknown;
  let writeProblem: string | undefined;
  let looking: Promise<void> | undefined;
  let isRecovering = false;

  const pause = (ms: number) => delay(ms, undefined, { signal, ref: false }).catch(() => undefined);

  const isOnlyFull = (error: unknown) => isConnectionLimit(error) && isConnected();

  async function reach(): Promise<void> {
    if (isSupervised) return;
    await checkConnection(server).catch((error: unknown) => {
      if (!isOnlyFull(error)) throw error;
    });
  }

  function noteReachable(): void {
    isReachable = true;
    onLook(true);
    unreachable.over();
  }

  function recordRejection(error: unknown): void {
    writeProblem = `The database cannot write, because ${findWriteRejection(error)?.reason}.`;
    unwritable.failed(describeError(error));
  }

  function noteWritten(): void {
    // An open session stays read-only after the database has become writable.
    if (unwritable.lasting || getDatabaseErrorCode(rejected) === READ_ONLY) onWritable();
    // A part of the database, such as a tablespace, may be full while the attempt to write succeeds.
    else failedWrites.emit(describeError(rejected));
    rejected = undefined;
    writeProblem = undefined;
    unwritable.over();
  }

  function noteFailure(error: unknown): void {
    if (isSupervised) log.emit('database.write_check_failed', { err: error });
    else if (isOnlyFull(error)) noteReachable();
    else {
      // A rejected password counts as an outage, because an exit of the process would not help.
      isReachable = false;
      onLook(false);
      unreachable.failed(describeError(error));
    }
  }

  async function lookOnce(): Promise<void> {
    try {
      if (rejected === undefined) await reach();
      const isTried = rejected !== undefined;
      const rejection = isTried ? await tryToWrite(server) : undefined;
      if (signal.aborted) return;
      noteReachable();
      if (rejection !== undefined) recordRejection(rejection);
      else if (isTried) noteWritten();
    } catch (error) {
      if (!signal.aborted) noteFailure(error);
    }
    void recover();
  }

  function look(): Promise<void> {
    looking ??= lookOnce().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  async function recover(): Promise<void> {
    if (isRecovering) return;
    isRecovering = true;
    for (let ms = FIRST_PAUSE_MS; !isReachable || rejected !== undefined; ms = doublePause(ms)) {
      await pause(ms);
      if (signal.aborted) return;
      await look();
    }
    isRecovering = false;
  }

  async function untilStarted(use: () => Promise<void>, onWait: () => void): Promise<boolean> {
    for (let ms = FIRST_PAUSE_MS; !signal.aborted; ms = doublePause(ms)) {
      try {
        await reach();
        // An error in the URL is reported here. The users of the connection report a server that does not
        // respond.
        if (direct !== undefined) await checkConnection(direct).catch(rethrowUnlessUnreachable);
        await use();
        isReachable = true;
        waiting.over();
        return true;
      } catch (error) {
        if (signal.aborted) break;
        if (isSupervised || !mayPass(error)) throw error;
        isReachable = false;
        waiting.failed(describeError(error));
        onWait();
        await pause(ms);
      }
    }
    return false;
  }

  /** @returns true if the server is reachable. */
  async function check(): Promise<boolean> {
    if (isSupervised) return true;
    if (signal.aborted || !isReachable) return false;
    await look();
    return isReachable;
  }

  return {
    get writeProblem() {
      return writeProblem;
    },
    get closed() {
      return signal.aborted;
    },
    check,
    /** Logs the error only if the server is reachable. */
    broke(error: unknown): void {
      if (isSupervised || looking !== undefined) return;
      void check().then((reachable) => {
        if (reachable) lostConnections.emit(describeError(error));
      });
    },
    /** Resolves once an attempt to write has succeeded or failed. Never rejects. */
    async failed(error: unknown): Promise<void> {
      // A server that crashes while it writes is unreachable next, which other reports cover.
      if (signal.aborted || findWriteRejection(error) === undefined || isPanic(error)) return;
      const isFirst = rejected === undefined;
      rejected ??= error;
      await (isFirst ? look() : looking);
    },
    /**
     * Logs nothing.
     * @throws {DatabaseUnreachableError}
     * @throws {DatabaseSetupError}
     */
    async requireUsable(past: { readonly direct: boolean }): Promise<void> {
      await reach();
      if (past.direct && direct !== undefined) await checkConnection(direct);
    },
    /**
     * Runs `use` repeatedly until it succeeds, and resolves after the first attempt. `ready` resolves to
     * false if the watch is closed before.
     * @throws {DatabaseSetupError} and the errors of `use`, also through `ready`.
     */
    async start(use: () => Promise<void>): Promise<{ readonly ready: Promise<boolean> }> {
      const { promise: waits, resolve: onWait } = Promise.withResolvers<void>();
      const ready = untilStarted(use, onWait);
      await Promise.race([ready, waits]);
      return { ready };
    },
    close(): void {
      closing.abort();
      failedWrites.close();
      lostConnections.close();
    },
  };
}
