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
