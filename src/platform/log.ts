import { type DestinationStream, type Logger, pino } from 'pino';
import { build as pretty } from 'pino-pretty';

export type { Logger };

/** Where secrets could sit in what is logged. Requests are logged by path, never with headers, query or body. */
const SECRET_PATHS = [
  'authorization',
  'cookie',
  'password',
  'token',
  'key',
  'secret',
  'headers',
  '*.authorization',
  '*.cookie',
  '*.password',
  '*.token',
  '*.key',
  '*.secret',
  '*.headers',
];

export interface LogOptions {
  readonly level: string;
  /** Lines for people instead of JSON. */
  readonly pretty: boolean;
  /** Where the lines go; standard output by default. */
  readonly destination?: DestinationStream;
}

/** A structured logger: one JSON object a line, `time` in ISO 8601, secrets removed. */
export function createLogger({ level, pretty: readable, destination }: LogOptions): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: SECRET_PATHS, remove: true },
  };
  if (destination !== undefined) return pino(options, destination);
  return readable
    ? pino(
        options,
        pretty({
          sync: true,
          colorize: process.stdout.isTTY === true,
          translateTime: 'SYS:HH:MM:ss',
          singleLine: true,
        }),
      )
    : pino(options);
}
