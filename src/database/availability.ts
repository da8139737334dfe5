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
  /** The server as requests use it, which alone decides whether the database can be reached. */
  readonly server: ServerAddress;
  /** The server past a pooler, if there is one. The user of a connection to it logs a loss of the connection. */
  readonly direct?: ServerAddress | undefined;
  /** True if a supervisor restarts the server and logs outages. Only writes are watched then. */
  readonly isSupervised: boolean;
  readonly log: Logger;
  /** Called after each look with true if the server responded. */
  readonly onLook: (reachable: boolean) => void;
  /** True while requests have a connection. A server that only accepts no further connection can be reached then. */
  readonly isConnected: () => boolean;
  /** Called if a new connection can write although an older connection could not. */
  readonly onWritable: () => void;
}

export type DatabaseWatch = ReturnType<typeof watchDatabase>;

const FIRST_PAUSE_MS = 100;
/** The contract: writing is tried every second. */
const LONGEST_PAUSE_MS = 1_000;
const LINES_PER_MINUTE = 10;

/** Formats an error as fields of a log line, without a stack. */
function describeError(error: unknown): Readonly<Record<string, unknown>> {
  const rejection = findWriteRejection(error);
  if (rejection !== undefined) return { ...rejection, error: messageOf(error) };
  if (error instanceof DatabaseUnreachableError) return { reason: error.reason, hint: error.hint };
  const { cause } = toDatabaseError(error);
  return { reason: cause == null ? 'the server ended the connection' : messageOf(cause) };
}

/** @returns true if a later attempt may succeed. A statement may only have waited for a lock. */
function mayPass(error: unknown): boolean {
  if (error instanceof OperatorError) return error instanceof DatabaseUnreachableError;
  return isOutage(error) || toDatabaseError(error).kind === 'timeout';
}

function rethrowUnlessUnreachable(error: unknown): void {
  if (!(error instanceof DatabaseUnreachableError)) throw error;
}

const doublePause = (ms: number): number => Math.min(2 * ms, LONGEST_PAUSE_MS);

/**
 * Knows whether the database can be reached and whether it writes. The users of the database report what fails. A report
 * leads to a look: a new connection, or an attempt to write if a write was rejected. Looks follow until the database can be
 * reached and writes. The log has a line when an outage begins, reminders, and a line when the outage is over.
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
  /** The error of a rejected write, until an attempt to write succeeds. */
  let rejected: unknown;
  let writeProblem: string | undefined;
  let looking: Promise<void> | undefined;
  let isRecovering = false;

  const pause = (ms: number) => delay(ms, undefined, { signal, ref: false }).catch(() => undefined);

  /** A connection limit prevents only a further connection. */
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
    // A session that is read-only stays read-only.
    if (unwritable.lasting || getDatabaseErrorCode(rejected) === READ_ONLY) onWritable();
    // A part of the database, such as a tablespace, may have no room.
    else failedWrites.emit(describeError(rejected));
    rejected = undefined;
    writeProblem = undefined;
    unwritable.over();
  }

  function noteFailure(error: unknown): void {
    if (isSupervised) log.emit('database.write_check_failed', { err: error });
    else if (isOnlyFull(error)) noteReachable();
    else {
      // A rejected password is an outage, too: to exit would not help.
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
      // What is being closed fails.
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
        // A mistake in the address is reported. If no server responds there, the users of the connection report that.
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

  /** Looks at the server after an error that may mean an outage. @returns true if the server can be reached. */
  async function check(): Promise<boolean> {
    if (isSupervised) return true;
    if (signal.aborted || !isReachable) return false;
    await look();
    return isReachable;
  }

  return {
    /** Why nothing can be written, for operators. */
    get writeProblem() {
      return writeProblem;
    },
    get closed() {
      return signal.aborted;
    },
    check,
    /** Reports a broken connection. Logs the error if the server can be reached. Several connections break together. */
    broke(error: unknown): void {
      if (isSupervised || looking !== undefined) return;
      void check().then((reachable) => {
        if (reachable) lostConnections.emit(describeError(error));
      });
    },
    /** Reports the error of a statement. Resolves once an attempt to write has succeeded or failed. Never rejects. */
    async failed(error: unknown): Promise<void> {
      // A server that ends itself while it writes cannot be reached next.
      if (signal.aborted || findWriteRejection(error) === undefined || isPanic(error)) return;
      const isFirst = rejected === undefined;
      rejected ??= error;
      await (isFirst ? look() : looking);
    },
    /**
     * Looks at the server now, with `direct` also past a pooler. Logs nothing.
     * @throws {DatabaseUnreachableError}
     * @throws {DatabaseSetupError}
     */
    async requireUsable(past: { readonly direct: boolean }): Promise<void> {
      await reach();
      if (past.direct && direct !== undefined) await checkConnection(direct);
    },
    /**
     * Contacts the server and runs `use`, again and again until both succeed. Resolves after the first attempt. `ready`
     * resolves to false if the watch is closed before an attempt succeeds.
     * @throws {DatabaseSetupError} and what `use` throws, also through `ready`.
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
