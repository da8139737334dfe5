import { type DestinationStream, type Logger, pino } from 'pino';
import { build as pretty } from 'pino-pretty';

export type { Logger };

/** Members whose values never reach a line, at the top and one level down. Nothing logs them: this is the second lock. */
const SECRETS: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'password',
  'token',
  'key',
  'secret',
  'headers',
]);

function withoutSecrets(fields: Record<string, unknown>, depth = 1): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const name in fields) {
    if (SECRETS.has(name)) continue;
    const value = fields[name];
    const plain =
      depth > 0 &&
      typeof value === 'object' &&
      value !== null &&
      Object.getPrototypeOf(value) === Object.prototype;
    kept[name] = plain ? withoutSecrets(value as Record<string, unknown>, depth - 1) : value;
  }
  return kept;
}

/** Lines are written in blocks: a system call each would cost more than the request that is logged. */
const BLOCK_BYTES = 4_096;
const FLUSH_INTERVAL_MS = 1_000;

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
    formatters: { log: (fields: Record<string, unknown>) => withoutSecrets(fields) },
  };
  if (destination !== undefined) return pino(options, destination);
  if (!readable) {
    const block = pino.destination({
      dest: 1,
      sync: false,
      minLength: BLOCK_BYTES,
      periodicFlush: FLUSH_INTERVAL_MS,
    });
    process.once('exit', () => block.flushSync());
    return pino(options, block);
  }
  return pino(
    options,
    pretty({
      sync: true,
      colorize: process.stdout.isTTY === true,
      translateTime: 'SYS:HH:MM:ss',
      singleLine: true,
    }),
  );
}
