import type { LogFields, Logger } from './log.ts';
import type { LogEventCode } from './log-events.ts';

export interface LogRateLimiterOptions {
  readonly log: Logger;
  readonly event: LogEventCode;
  readonly maximum: number;
  /** Further fields of the line about suppressed lines. */
  readonly about?: LogFields;
}

const MINUTE_MS = 60_000;

/** Limits the lines of an event per minute, so that they cannot fill the disk or hide other lines. */
export function createLogRateLimiter({ log, event, maximum, about }: LogRateLimiterOptions) {
  let written = 0;
  let suppressedCount = 0;
  let timer: NodeJS.Timeout | undefined;

  function endMinute(): void {
    clearTimeout(timer);
    timer = undefined;
    if (suppressedCount > 0) log.emit('log.suppressed', { subject: event, ...about, suppressedCount });
    written = 0;
    suppressedCount = 0;
  }

  return {
    /** @param fields if a function, called only if the line is written */
    emit(fields: LogFields | (() => LogFields)): void {
      timer ??= setTimeout(endMinute, MINUTE_MS).unref();
      if (written < maximum) {
        written += 1;
        log.emit(event, typeof fields === 'function' ? fields() : fields);
      } else suppressedCount += 1;
    },
    close: endMinute,
  };
}

const FIRST_REMINDER_MS = 5_000;
const LONGEST_REMINDER_MS = 60_000;

export type OutageReporter = ReturnType<typeof createOutageReporter>;

/** Logs a lasting failure at growing intervals, and its recovery once. */
export function createOutageReporter(log: Logger, failure: LogEventCode, recovery: LogEventCode) {
  let sinceMs: number | undefined;
  let nextMs = 0;
  let pauseMs = FIRST_REMINDER_MS;
  const seconds = (nowMs: number) => Math.round((nowMs - (sinceMs ?? nowMs)) / 1_000);
  return {
    get lasting(): boolean {
      return sinceMs !== undefined;
    },
    failed(fields: LogFields): void {
      const nowMs = performance.now();
      if (sinceMs === undefined) {
        sinceMs = nowMs;
        pauseMs = FIRST_REMINDER_MS;
        log.emit(failure, fields);
      } else if (nowMs >= nextMs) {
        log.emit(failure, { ...fields, durationSeconds: seconds(nowMs) });
        pauseMs = Math.min(2 * pauseMs, LONGEST_REMINDER_MS);
      } else return;
      nextMs = nowMs + pauseMs;
    },
    over(): void {
      if (sinceMs === undefined) return;
      log.emit(recovery, { durationSeconds: seconds(performance.now()) });
      sinceMs = undefined;
    },
  };
}
