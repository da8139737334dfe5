import type { LogEventCode } from '../../src/platform/log/log-events.ts';

/** A line of the log. */
export type LogLine = Readonly<Record<string, unknown>> & {
  readonly event: LogEventCode;
  readonly msg: string;
  readonly level: number;
};

/** The lines of this event, oldest first. */
export function linesOf(logged: readonly string[], event: LogEventCode): LogLine[] {
  return logged.map((line) => JSON.parse(line) as LogLine).filter((line) => line.event === event);
}

/** pino's number of the level `warn`. */
export const WARN = 40;
export const INFO = 30;
export const DEBUG = 20;
