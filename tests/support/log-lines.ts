/** A line of the log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly msg: string; readonly level: number };

/** The lines with this message, oldest first. */
export function linesOf(logged: readonly string[], message: string): LogLine[] {
  return logged.map((line) => JSON.parse(line) as LogLine).filter(({ msg }) => msg === message);
}

/** pino's number of the level `warn`. */
export const WARN = 40;
export const INFO = 30;
export const DEBUG = 20;
