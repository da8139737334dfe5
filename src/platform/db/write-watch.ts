import { setTimeout as delay } from 'node:timers/promises';
import { createLineLimit } from '../line-limit.ts';
import type { Logger } from '../log.ts';
import { createOutageLog } from '../outage-log.ts';
import { messageOf } from './contact.ts';
import { codeOf, isPanic, refusedWrite } from './errors.ts';
import { READ_ONLY } from './write-refusals.ts';

/** Whether the database writes: a full or read-only one still answers. Logs an outage as the watch of the server does. */
export interface WriteWatch {
  /** Why nothing can be written, for operators. Undefined as long as nothing else is known. */
  readonly problem: string | undefined;
  /** The error of a statement. If it refuses to write, finds out whether that is so for all. */
  heard(error: unknown): void;
  /** Finds out whether the database writes, unless that is under way. Resolves once something is known. Never rejects. */
  check(error: unknown): Promise<void>;
  close(): void;
}

const PAUSE_MS = 1_000;
const LINES_PER_MINUTE = 10;

export interface WriteWatchOptions {
  /** Tries to write. Resolves to the error with which that is refused, if it is; rejects if it cannot be tried. */
  readonly tryToWrite: () => Promise<unknown>;
  /** Called if the database writes on a new connection, but has refused to on others. */
  readonly onWritable: () => void;
  readonly log: Logger;
}

export function createWriteWatch({ tryToWrite, onWritable, log }: WriteWatchOptions): WriteWatch {
  const closing = new AbortController();
  const { signal } = closing;
  const outage = createOutageLog(log, 'the database cannot write', 'the database writes again');
  const lines = createLineLimit({ log, maximum: LINES_PER_MINUTE, what: 'refused write' });
  let problem: string | undefined;
  let checking: Promise<void> | undefined;

  /** Undefined if writing could not be tried. */
  async function written(): Promise<{ readonly refusal: unknown } | undefined> {
    try {
      return { refusal: await tryToWrite() };
    } catch (error) {
      // The watch of the server logs it.
      log.debug({ err: error }, 'whether the database writes could not be tried');
      return undefined;
    }
  }

  function tell(error: unknown): void {
    const refusal = refusedWrite(error);
    if (refusal === undefined) return;
    problem = `the database cannot write: ${refusal.reason}`;
    outage.failed({ ...refusal, error: messageOf(error) });
  }

  /** Tries until the database writes. Calls `known` after the first try that says whether it does. */
  async function untilWritten(error: unknown, known: () => void): Promise<void> {
    while (!signal.aborted) {
      const tried = await written();
      if (signal.aborted) break;
      if (tried !== undefined && tried.refusal === undefined) {
        // A session that is read-only stays so.
        if (outage.lasting || codeOf(error) === READ_ONLY) onWritable();
        // A part of the database, such as a tablespace, may have no room.
        else lines.warn({ ...refusedWrite(error), error: messageOf(error) }, 'the database refused a write');
        problem = undefined;
        outage.over();
        break;
      }
      if (tried !== undefined) tell(tried.refusal);
      known();
      await delay(PAUSE_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
    known();
    checking = undefined;
  }

  function check(error: unknown): Promise<void> {
    // The watch of the server logs that the server has ended itself.
    if (signal.aborted || refusedWrite(error) === undefined || isPanic(error)) return Promise.resolve();
    checking ??= new Promise((resolve) => void untilWritten(error, resolve));
    return checking;
  }

  return {
    get problem() {
      return problem;
    },
    heard: (error) => void check(error),
    check,
    close() {
      closing.abort();
      lines.close();
    },
  };
}
