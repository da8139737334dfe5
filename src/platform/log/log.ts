import { type DestinationStream, type Logger as Pino, pino, stdSerializers } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { withoutUserInformation } from '../errors.ts';
import { LOG_EVENTS, type LogEventCode } from './log-events.ts';
import { logOutput } from './log-output.ts';

interface Known {
  /** Undefined while several requests with the same id are being handled: clients may choose it. */
  traceId: string | undefined;
  requests: number;
}

const known = new Map<string, Known>();

/**
 * The trace of a request that is being handled, by its id, for whoever logs that id; undefined if it has none. Returns what
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

/** The values of a line of the log. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Writes lines whose level and message are in the table of log events. */
export interface Logger {
  /** Writes a line. With the level `debug`, a line that is expected does not alarm the operator. */
  emit(event: LogEventCode, fields?: LogFields, level?: 'debug'): void;
  /** True if lines of the level `debug` are written. */
  readonly writesDebug: boolean;
}

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

/** The codes of errors of the network, or of another server that is missing. */
const NETWORK_ERROR = /^E(CONN|PIPE|HOSTUNREACH|HOSTDOWN|NETUNREACH|TIMEDOUT|NOTFOUND|AI_AGAIN|ADDRNOTAVAIL)/;

/** An error with its causes, outermost first. */
function collectCauses(error: Error): Error[] {
  const chain: Error[] = [];
  for (let one: unknown = error; one instanceof Error && !chain.includes(one); one = one.cause)
    chain.push(one);
  return chain;
}

/** @returns true if another server explains the error, so that its stack helps to find no bug. */
function isExpected(error: Error): boolean {
  const { code, isExpected } = error as { readonly code?: unknown; readonly isExpected?: unknown };
  return isExpected === true || (typeof code === 'string' && NETWORK_ERROR.test(code));
}

/** Formats the message of an error and those of its causes, each once. */
function formatMessage(chain: readonly Error[]): string {
  let message = '';
  for (const { message: own } of chain)
    if (!message.includes(own)) message = message === '' ? own : `${message}: ${own}`;
  return message;
}

/** Formats the stacks without the messages, which would be repeated. */
function formatStack(chain: readonly Error[]): string {
  const stacks = chain.map(({ name, stack = '' }) => {
    const start = stack.indexOf('\n    at ');
    return start < 0 ? name : `${name}${stack.slice(start)}`;
  });
  return stacks.join('\ncaused by: ');
}

/**
 * Serialises an error without secrets, which properties other than message and stack may hold. The message says each reason
 * once. An expected error has no stack.
 */
function serialised(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const chain = collectCauses(error);
  const { raw: _raw, stack: _stack, aggregateErrors, ...own } = stdSerializers.err(error);
  const message = formatMessage(chain) || aggregateErrors?.[0]?.message;
  const stack = chain.some(isExpected) ? undefined : formatStack(chain);
  return withoutSecrets({ ...own, message, stack });
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
  return createEmitter(pino(options, destination ?? openStandardOutput(readable)));
}

/** A child logger for each event has its code in serialised form. */
function createEmitter(root: Pino): Logger {
  const children = new Map<LogEventCode, Pino>();
  return {
    emit(event, fields = {}, level) {
      const entry = LOG_EVENTS[event];
      let child = children.get(event);
      if (child === undefined) {
        child = root.child({ event });
        children.set(event, child);
      }
      child[level ?? entry.level](fields, entry.message);
    },
    writesDebug: root.isLevelEnabled('debug'),
  };
}

function openStandardOutput(readable: boolean): DestinationStream {
  prepareStandardOutput();
  if (!readable) return { write: (line) => logOutput.write(line) };
  const prettify = prettyFactory({
    colorize: process.stdout.isTTY === true,
    translateTime: 'SYS:HH:MM:ss',
    messageFormat: '{msg} [{event}]',
    ignore: 'event',
    singleLine: true,
  });
  return { write: (line) => logOutput.write(prettify(line) ?? '', true) };
}

let opened = false;

/** Makes a pipe non-blocking: a write that blocks would hold up the end of the process. */
function prepareStandardOutput(): void {
  if (opened) return;
  opened = true;
  // Without a listener, the error of a reader that has gone would end the process.
  process.stdout.on('error', () => undefined);
  process.once('exit', () => logOutput.flushSync());
}
