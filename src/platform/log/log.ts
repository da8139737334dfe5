import { type DestinationStream, type Logger as Pino, pino, stdSerializers } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { withoutUserInformation } from '../errors.ts';
import { LOG_EVENTS, type LogEventCode } from './log-events.ts';
import { logOutput } from './log-output.ts';

interface Known {
  /** Undefined while several requests with this id are being handled, because clients may choose the id. */
  traceId: string | undefined;
  requests: number;
}

const known = new Map<string, Known>();

/**
 * Adds the trace id to all log lines with the id of a running request.
 * @returns a function that removes the trace id
 */
export function addTraceToLog(requestId: string, traceId: string | undefined): () => void {
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

export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  /** @param level `debug` for an expected line, which must not alarm the operator */
  emit(event: LogEventCode, fields?: LogFields, level?: 'debug'): void;
  readonly writesDebug: boolean;
}

/** A safety net, because no code should log these fields. */
const SECRETS: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'password',
  'token',
  'key',
  'secret',
  'headers',
  // Errors of failed commands have these fields, such as the command that opens a connection.
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
  if (!mayHoldSecrets(fields)) return fields;
  const kept: Record<string, unknown> = {};
  for (const name in fields) {
    if (SECRETS.has(name)) continue;
    const value = fields[name];
    kept[name] = depth > 0 && isPlain(value) ? withoutSecrets(value, depth - 1) : value;
  }
  return kept;
}

function traced(fields: Record<string, unknown>): Record<string, unknown> {
  const traceId = traceIdOf(fields.requestId);
  return traceId === undefined || 'traceId' in fields ? fields : { ...fields, traceId };
}

/** These codes mean that the network failed or another server is unavailable. */
const NETWORK_ERROR = /^E(CONN|PIPE|HOSTUNREACH|HOSTDOWN|NETUNREACH|TIMEDOUT|NOTFOUND|AI_AGAIN|ADDRNOTAVAIL)/;

function collectCauses(error: Error): Error[] {
  const chain: Error[] = [];
  for (let one: unknown = error; one instanceof Error && !chain.includes(one); one = one.cause)
    chain.push(one);
  return chain;
}

/** True if another server explains the error, so that the stack does not help to find a bug. */
function isExpected(error: Error): boolean {
  const { code, isExpected } = error as { readonly code?: unknown; readonly isExpected?: unknown };
  return isExpected === true || (typeof code === 'string' && NETWORK_ERROR.test(code));
}

function formatMessage(chain: readonly Error[]): string {
  let message = '';
  for (const { message: own } of chain)
    if (!message.includes(own)) message = message === '' ? own : `${message}: ${own}`;
  return message;
}

/** Omits the messages, which the stacks would repeat. */
function formatStack(chain: readonly Error[]): string {
  const stacks = chain.map(({ name, stack = '' }) => {
    const start = stack.indexOf('\n    at ');
    return start < 0 ? name : `${name}${stack.slice(start)}`;
  });
  return stacks.join('\ncaused by: ');
}

/** The properties of an error may contain secrets. */
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

/** Only the milliseconds are formatted for each line. The rest is formatted once per second. */
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
  readonly pretty: boolean;
  readonly destination?: DestinationStream;
  readonly first?: Readonly<Record<string, unknown>>;
}

export function createLogger({ level, pretty: readable, destination, first }: LogOptions): Logger {
  let more = first;
  function format(fields: Record<string, unknown>): Record<string, unknown> {
    const kept = traced(withoutSecrets(fields));
    if (more === undefined) return kept;
    // The additional fields are first, so that the order of the other fields does not change.
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

/** A child logger stores the code of its event in serialised form. */
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

/** A blocking write to a pipe would delay the exit of the process. */
function prepareStandardOutput(): void {
  if (opened) return;
  opened = true;
  // Without a listener, the error of a closed reader would end the process.
  process.stdout.on('error', () => undefined);
  process.once('exit', () => logOutput.flushSync());
}
