import type { Logger } from './log.ts';

export interface LineLimitOptions {
  readonly log: Logger;
  /** Lines in a minute. */
  readonly maximum: number;
  /** What the lines are about, for the line about those left out. */
  readonly what: string;
}

const MINUTE_MS = 60_000;

/**
 * Logs at most `maximum` lines a minute, so that nobody can fill the disk or hide other lines. At the end of the
 * minute one line has the number of those left out.
 */
export function createLineLimit({ log, maximum, what }: LineLimitOptions) {
  let written = 0;
  let omitted = 0;
  let timer: NodeJS.Timeout | undefined;

  function endMinute(): void {
    clearTimeout(timer);
    timer = undefined;
    if (omitted > 0) log.warn({ what, omitted }, 'lines left out: too many in a minute');
    written = 0;
    omitted = 0;
  }

  return {
    /** `fields` may be a function, which is called only if the line is written. */
    warn(fields: Record<string, unknown> | (() => Record<string, unknown>), message: string): void {
      timer ??= setTimeout(endMinute, MINUTE_MS).unref();
      if (written < maximum) {
        written += 1;
        const read = typeof fields === 'function' ? fields() : fields;
        log.warn(read, message);
      } else omitted += 1;
    },
    /** Logs how many lines are left out so far, and stops. */
    close: endMinute,
  };
}

const FIRST_REMINDER_MS = 5_000;
const LONGEST_REMINDER_MS = 60_000;

export type OutageLog = ReturnType<typeof createOutageLog>;

/**
 * Logs a lasting failure: at once, then at growing intervals, and once when it is over. `lost` and `back` are the
 * messages of the lines; without `back`, the end is not logged.
 */
export function createOutageLog(log: Logger, lost: string, back?: string) {
  let sinceMs: number | undefined;
  let nextMs = 0;
  let pauseMs = FIRST_REMINDER_MS;
  const seconds = (nowMs: number) => Math.round((nowMs - (sinceMs ?? nowMs)) / 1_000);
  return {
    /** Whether it goes on. */
    get lasting(): boolean {
      return sinceMs !== undefined;
    },
    /** An attempt has failed. Logs `fields` with how long it has lasted, unless that was said a moment ago. */
    failed(fields: Readonly<Record<string, unknown>>): void {
      const nowMs = performance.now();
      if (sinceMs === undefined) {
        sinceMs = nowMs;
        pauseMs = FIRST_REMINDER_MS;
        log.warn(fields, lost);
      } else if (nowMs >= nextMs) {
        log.warn({ ...fields, forSeconds: seconds(nowMs) }, lost);
        pauseMs = Math.min(2 * pauseMs, LONGEST_REMINDER_MS);
      } else return;
      nextMs = nowMs + pauseMs;
    },
    /** An attempt has succeeded. */
    over(): void {
      if (sinceMs === undefined) return;
      if (back !== undefined) log.info({ afterSeconds: seconds(performance.now()) }, back);
      sinceMs = undefined;
    },
  };
}
