import { setTimeout as delay } from 'node:timers/promises';
import { createLineLimit } from '../line-limit.ts';
import type { Logger } from '../log.ts';
import { OperatorError } from '../operator-error.ts';
import { createOutageLog } from '../outage-log.ts';
import { contact, DatabaseUnreachableError, messageOf, type ServerAddress } from './contact.ts';
import { isConnectionLimit, isOutage, toDatabaseError } from './errors.ts';

/** Whether the database server can be reached. Logs an outage at once, then at growing intervals, and its end. */
export interface DatabaseWatch {
  readonly down: boolean;
  readonly closed: boolean;
  /**
   * Finds out, after an error that may mean an outage. Resolves to whether the server can be reached. Never
   * rejects.
   */
  check(error: unknown): Promise<boolean>;
  /** The same for a broken connection. Logs it if the server can be reached. */
  broke(error: unknown): void;
  /**
   * The first contact, and the first `use`. Resolves to false, and says so in the log, if the server has to be waited
   * for. Throws DatabaseSetupError and what `use` throws.
   */
  first(use: () => Promise<void>): Promise<boolean>;
  /**
   * Throws DatabaseUnreachableError, DatabaseSetupError if the server cannot be used now, without a line in the log.
   * With `direct`, also past a pooler.
   */
  refuse(options: { readonly direct: boolean }): Promise<void>;
  /**
   * Resolves to true once the server can be reached and `use` has succeeded, to false if the watch is closed before.
   * Throws DatabaseSetupError and what `use` throws.
   */
  reached(use: () => Promise<void>): Promise<boolean>;
  close(): void;
}

const FIRST_PAUSE_MS = 100;
/** Events wait for the wake-ups of the next connection: 2 s after an outage, while a probe every 2 s costs nothing. */
const LONGEST_PAUSE_MS = 2_000;
const LINES_PER_MINUTE = 10;

/** For the embedded database, whose supervisor watches it. */
export const UNWATCHED: DatabaseWatch = {
  down: false,
  closed: false,
  check: async () => true,
  broke: () => undefined,
  first: async (use) => {
    await use();
    return true;
  },
  refuse: async () => undefined,
  reached: async (use) => {
    await use();
    return true;
  },
  close: () => undefined,
};

/** An error as fields of a log line, without a stack. */
function fieldsOf(error: unknown): { readonly reason: string; readonly check?: string } {
  if (error instanceof DatabaseUnreachableError) return { reason: error.reason, check: error.check };
  const { cause } = toDatabaseError(error);
  return { reason: cause == null ? 'the server ended the connection' : messageOf(cause) };
}

/** Whether retrying may help. A statement may only have waited for a lock. */
function mayPass(error: unknown): boolean {
  if (error instanceof OperatorError) return error instanceof DatabaseUnreachableError;
  return isOutage(error) || toDatabaseError(error).kind === 'timeout';
}

export interface WatchOptions {
  /** The server as requests use it: it decides whether the database can be reached. */
  readonly server: ServerAddress;
  /** The server past a pooler, if there is one. The loser of a connection to it logs the loss. */
  readonly direct: ServerAddress | undefined;
  readonly log: Logger;
  /** Called with what each look at the server finds. */
  readonly onLook: (reachable: boolean) => void;
  /** True while requests have a connection. A server that only accepts no further connection is available then. */
  readonly isConnected: () => boolean;
}

export function watchServer({ server, direct, log, onLook, isConnected }: WatchOptions): DatabaseWatch {
  const closing = new AbortController();
  const { signal } = closing;
  const outage = createOutageLog(log, 'the database cannot be reached', 'the database is back');
  const full = createOutageLog(
    log,
    'the database accepts no connection',
    'the database accepts connections again',
  );
  const waiting = createOutageLog(log, 'waiting for the database');
  const lines = createLineLimit({ log, maximum: LINES_PER_MINUTE, what: 'broken database connection' });
  let down = false;
  let checking: Promise<boolean> | undefined;

  const pause = (ms: number) => delay(ms, undefined, { signal, ref: false }).catch(() => undefined);

  async function probe(): Promise<void> {
    try {
      await contact(server);
      onLook(true);
    } catch (error) {
      const isUsable = isConnectionLimit(error) && isConnected();
      onLook(isUsable);
      if (!isUsable) throw error;
    }
  }

  /** Tries until it succeeds or the watch is closed. `failed` gets each error and may throw it. */
  async function untilDone(attempt: () => Promise<void>, failed: (error: unknown) => void): Promise<boolean> {
    for (let ms = FIRST_PAUSE_MS; !signal.aborted; ms = Math.min(2 * ms, LONGEST_PAUSE_MS)) {
      await pause(ms);
      if (signal.aborted) break;
      try {
        await attempt();
        return true;
      } catch (error) {
        // What is being closed fails.
        if (!signal.aborted) failed(error);
      }
    }
    return false;
  }

  /** During operation a refused password is an outage too: ending the process would not help. */
  const tell = (error: unknown) => (isConnectionLimit(error) ? full : outage).failed(fieldsOf(error));

  async function recover(): Promise<void> {
    if (!(await untilDone(probe, tell))) return;
    down = false;
    outage.over();
    full.over();
  }

  async function look(): Promise<boolean> {
    try {
      await probe();
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      down = true;
      tell(error);
      void recover();
      return false;
    } finally {
      checking = undefined;
    }
  }

  function check(): Promise<boolean> {
    if (down || signal.aborted) return Promise.resolve(false);
    checking ??= look();
    return checking;
  }

  /** At the start the server is waited for. */
  function wait(error: unknown): void {
    if (!mayPass(error)) throw error;
    down = true;
    waiting.failed(fieldsOf(error));
  }

  /** Reports a mistake in the address at the start. If nobody answers there, its users report that. */
  async function checkDirect(): Promise<void> {
    if (direct === undefined) return;
    try {
      await contact(direct);
    } catch (error) {
      if (!(error instanceof DatabaseUnreachableError)) throw error;
    }
  }

  return {
    get down() {
      return down;
    },
    get closed() {
      return signal.aborted;
    },
    check,
    broke(error) {
      // Several connections break at once; one line says so.
      if (checking !== undefined) return;
      void check().then((reachable) => {
        if (reachable) lines.warn(fieldsOf(error), 'a database connection broke');
      });
    },
    async refuse(options) {
      await probe();
      if (options.direct && direct !== undefined) await contact(direct);
    },
    async first(use) {
      try {
        await probe();
        await checkDirect();
        await use();
        return true;
      } catch (error) {
        wait(error);
        return false;
      }
    },
    async reached(use) {
      const attempt = async () => {
        await probe();
        await use();
      };
      const reached = await untilDone(attempt, wait);
      if (reached) down = false;
      return reached;
    },
    close() {
      closing.abort();
      lines.close();
    },
  };
}
