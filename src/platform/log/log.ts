import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { withoutUserInformation } from '../errors.ts';
import { logOutput } from './log-output.ts';

interface Known {
  /** Undefined while several requests with the same id are being answered: clients may choose it. */
  traceId: string | undefined;
  requests: number;
}

const known = new Map<string, Known>();

/**
 * The trace of a request that is being answered, by its id, for whoever logs that id; undefined if it has none. Returns what
 * forgets it.
 */
export function rememberTrace(requestId: string, traceId: string | undefined): () => void {
  const entry = known.get(requestId);
  if (entry === undefined) known.set(requestId, { traceId, requests: 1 });
  else {
    entry.traceId = undefined;
    entry.requests += 1;
  }
  return () => {
    const left = known.get(requestId);
    if (left === undefined) return;
    left.requests -= 1;
    if (left.requests === 0) known.delete(requestId);
  };
}

const traceIdOf = (requestId: unknown): string | undefined =>
  known.size === 0 || typeof requestId !== 'string' ? undefined : known.get(requestId)?.traceId;

export type { Logger };

/**
 * Fields removed from every log line, at the top level and one below. A safety net: nothing should log them.
 */
const SECRETS: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'password',
  'token',
  'key',
  'secret',
  'headers',
  // Errors of failed commands carry these, such as the command that opens a connection.
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
  // Avoids copying the fields of most lines.
  if (!mayHoldSecrets(fields)) return fields;
  const kept: Record<string, unknown> = {};
  for (const name in fields) {
    if (SECRETS.has(name)) continue;
    const value = fields[name];
    kept[name] = depth > 0 && isPlain(value) ? withoutSecrets(value, depth - 1) : value;
  }
  return kept;
}

/** Lines of a request that is traced tell by which trace. */
function traced(fields: Record<string, unknown>): Record<string, unknown> {
  const traceId = traceIdOf(fields.requestId);
  return traceId === undefined || 'traceId' in fields ? fields : { ...fields, traceId };
}

/** An error without secrets: properties other than message and stack may hold them. */
function serialised(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { raw: _raw, ...own } = stdSerializers.err(error);
  return withoutSecrets({ ...own });
}

let second = -1;
let untilSecond = '';

/** The time in ISO 8601 with milliseconds. Everything but the milliseconds is formatted once per second. */
function isoTime(): string {
  const nowMs = Date.now();
  const now = Math.floor(nowMs / 1000);
  if (now !== second) {
    second = now;
    untilSecond = `,"time":"${new Date(nowMs).toISOString().slice(0, 20)}`;
  }
  return `${untilSecond}${String(nowMs % 1000).padStart(3, '0')}Z"`;
}

export interface LogOptions {
  readonly level: string;
  /** Human-readable lines instead of JSON. */
  readonly pretty: boolean;
  /** Standard output by default. */
  readonly destination?: DestinationStream;
  /** Further fields of the first line that is written, whatever it says. */
  readonly first?: Readonly<Record<string, unknown>>;
}

/** A structured logger: one JSON object per line, `time` in ISO 8601, secrets removed. */
export function createLogger({ level, pretty: readable, destination, first }: LogOptions): Logger {
  let more = first;
  function format(fields: Record<string, unknown>): Record<string, unknown> {
    const kept = traced(withoutSecrets(fields));
    if (more === undefined) return kept;
    // Before the others: what follows a field in its line stays what it was.
    const whole = { ...more, ...kept };
    more = undefined;
    return whole;
  }
  const options = {
    level,
    base: null,
    timestamp: isoTime,
    formatters: { log: format },
    serializers: { err: serialised },
    hooks: { streamWrite: withoutUserInformation },
  };
  if (destination !== undefined) return pino(options, destination);
  openStandardOutput();
  if (!readable) return pino(options, { write: (line) => logOutput.write(line) });
  const prettify = prettyFactory({
    colorize: process.stdout.isTTY === true,
    translateTime: 'SYS:HH:MM:ss',
    singleLine: true,
  });
  return pino(options, { write: (line) => logOutput.write(prettify(line) ?? '', true) });
}

let opened = false;

/** Makes a pipe non-blocking: a write that blocks would hold up the end of the process. */
function openStandardOutput(): void {
  if (opened) return;
  opened = true;
  // Without a listener, the error of a reader that has gone would end the process.
  process.stdout.on('error', () => undefined);
  process.once('exit', () => logOutput.flushSync());
}
