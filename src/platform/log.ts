import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino';
import { build as pretty } from 'pino-pretty';
import { withoutUserInformation } from './redact.ts';

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
  // Of a command that failed, such as the one that a connection begins with.
  'args',
  'parameters',
]);

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function mayHoldSecrets(fields: Record<string, unknown>): boolean {
  for (const name in fields) if (SECRETS.has(name) || isPlain(fields[name])) return true;
  return false;
}

function withoutSecrets(fields: Record<string, unknown>, depth = 1): Record<string, unknown> {
  // Most lines are copied for nothing otherwise.
  if (!mayHoldSecrets(fields)) return fields;
  const kept: Record<string, unknown> = {};
  for (const name in fields) {
    if (SECRETS.has(name)) continue;
    const value = fields[name];
    kept[name] = depth > 0 && isPlain(value) ? withoutSecrets(value, depth - 1) : value;
  }
  return kept;
}

/** An error as it is logged: what it names beside message and stack may hold what it was about. */
function serialised(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { raw: _raw, ...own } = stdSerializers.err(error);
  return withoutSecrets({ ...own });
}

let second = -1;
let untilSecond = '';

/** The time as ISO 8601 with milliseconds, of which all but those are written once a second. */
function isoTime(): string {
  const nowMs = Date.now();
  const now = Math.floor(nowMs / 1000);
  if (now !== second) {
    second = now;
    untilSecond = `,"time":"${new Date(nowMs).toISOString().slice(0, 20)}`;
  }
  return `${untilSecond}${String(nowMs % 1000).padStart(3, '0')}Z"`;
}

/** Lines are written in blocks: a system call each would cost more than the request that is logged. */
const BLOCK_BYTES = 32_768;
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
    timestamp: isoTime,
    formatters: { log: (fields: Record<string, unknown>) => withoutSecrets(fields) },
    serializers: { err: serialised },
    hooks: { streamWrite: withoutUserInformation },
  };
  if (destination !== undefined) return pino(options, destination);
  if (!readable) {
    const block = pino.destination({
      dest: 1,
      sync: false,
      minLength: BLOCK_BYTES,
      maxWrite: 4 * BLOCK_BYTES,
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
