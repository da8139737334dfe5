import type { Duplex } from 'node:stream';
import type { ClientConfig } from 'pg';
import pg from 'pg';
import type { Deadline } from '../platform/deadline.ts';
import { eventLoop, readThrottle, type ThrottledSource } from '../platform/fairness/event-loop.ts';
import type { Cancellation } from './cancellation.ts';
import { CONNECTION_LOST, TRANSACTION_RESOLUTION_UNKNOWN } from './errors.ts';
import { NamedQuery } from './pg-query.ts';

/** How to end a statement that runs too long or is no longer wanted. */
export interface StatementControl {
  /** How long a statement may run before `overrun`. Undefined if the server enforces the limit. */
  readonly statementLimitMs?: number | undefined;
  /** When an unresponsive server is presumed dead. Undefined if it cannot fail on its own. */
  readonly silence?: Deadline | undefined;
  /** The same, counted from a cancel request. */
  readonly cancelSilence?: Deadline | undefined;
  /** Replaces BEGIN if each transaction has to set its own limits. */
  readonly begin?: string | undefined;
  /** Whether an ended statement is rolled back even if the connection was lost. */
  readonly lostIsUndone?: boolean;
  /** Called with the time at which a statement was begun when it has ended, and with its error if it failed. */
  readonly onEnd?: ((sinceMs: number, error: unknown) => void) | undefined;
  /** Ends a statement past its time limit. Resolves once it can no longer hit a later statement. */
  overrun?(client: pg.ClientBase): Promise<void> | undefined;
  /** Cancels a statement that nobody waits for. Resolves once it can no longer hit a later statement. */
  cancel?(client: pg.ClientBase): Promise<void>;
}

/** The work that a connection is currently lent to. */
const createLending = (stream: ThrottledSource['stream']) => ({
  stream,
  to: undefined as Cancellation | undefined,
  number: 0,
  get owner(): string | undefined {
    return this.to?.owner;
  },
});

type Lending = ReturnType<typeof createLending>;

const lendings = new WeakMap<pg.ClientBase, Lending>();

/** Ties the statements on a limited connection to a cancellation until the next call. */
export function lendFor(client: pg.ClientBase, cancellation: Cancellation | undefined): void {
  const lending = lendings.get(client);
  if (lending === undefined) throw new Error('the connection is not limited');
  lending.to = cancellation;
  lending.number = readThrottle.nextNumber();
}

const QUERY_CANCELED = '57014';

function databaseError(code: string, message: string, cause?: unknown): Error {
  return Object.assign(new pg.DatabaseError(message, 0, 'error'), { code, severity: 'ERROR', cause });
}

/** PostgreSQL's own error for a cancelled statement, whichever side ended it. */
export function statementCancelled(cause?: unknown): Error {
  return databaseError(QUERY_CANCELED, 'the statement was cancelled', cause);
}

/** The error of a statement that we ended. Its outcome is unknown unless the server reported it. */
function endedWith(error: unknown, lostIsUndone = false): unknown {
  const told = error instanceof pg.DatabaseError && !CONNECTION_LOST.test(error.code ?? '');
  if (told || lostIsUndone) return statementCancelled(error);
  return databaseError(
    TRANSACTION_RESOLUTION_UNKNOWN,
    'the connection was lost while a statement was being cancelled',
    error,
  );
}

function textOf(config: unknown): string | undefined {
  return typeof config === 'string' ? config : (config as { text?: string }).text;
}

/** The bound on results that no loan counts: a row of 2^29 characters would crash the process. */
const MAX_UNCOUNTED_BYTES = 268_435_456;
/** As much as libuv reads at once. */
const LARGE_CHUNK = 65_536;

/**
 * Counts the bytes received on a connection before pg buffers them. Too many, for the loan or for a statement
 * without one, end the connection: there is no other way to reject the rest of a row.
 */
function boundReceived(client: pg.Client, lending: Lending): { reset(): void } {
  const { stream } = client.connection;
  let uncounted = 0;
  // Replaces pg's own listener and calls it: a second listener would cost more than the counting.
  const [parse, ...others] = stream.listeners('data');
  if (parse === undefined || others.length > 0)
    throw new Error('unexpected data listeners on a pg connection');
  stream.removeAllListeners('data').on('data', (chunk: Buffer) => {
    const { to } = lending;
    uncounted += chunk.length;
    const taken = to === undefined ? uncounted <= MAX_UNCOUNTED_BYTES : to.receive(chunk.length);
    if (!taken) stream.destroy(new Error('the database sent more data than the bound allows'));
    // Parsing copies it: that is its owner's work.
    if (chunk.length >= LARGE_CHUNK) eventLoop.charge(lending.owner);
    parse(chunk);
    readThrottle.take(lending, chunk.length);
  });
  return {
    reset() {
      uncounted = 0;
    },
  };
}

type Callback = (error: unknown, result?: unknown) => void;

/**
 * Limits the time of every statement on a connection: our own, a transaction's BEGIN, and Prisma's. A
 * cancelled loan starts nothing more except ROLLBACK.
 */
export function limitStatements(client: pg.ClientBase, control: StatementControl): void {
  if (!(client instanceof pg.Client)) throw new Error('the connection is not a pg.Client');
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const lending = createLending(client.connection.stream);
  lendings.set(client, lending);
  const received = boundReceived(client, lending);

  /** Watches a statement about to run. Calls `done` with its outcome; the error says whether we ended it. */
  function watch(cancellation: Cancellation | undefined, done: Callback): Callback {
    const sinceMs = performance.now();
    let ended = false;
    let cancelling: Promise<void> | undefined;
    const end = () => {
      ended = true;
      cancelling = control.overrun?.(client);
    };
    const timer =
      control.statementLimitMs === undefined ? undefined : setTimeout(end, control.statementLimitMs);
    // Without this, a vanished server is noticed only by TCP: after hours if everything was acknowledged.
    const giveUp = () => void (client as pg.Client).end();
    const heard = control.silence?.set(giveUp);
    let heardAfterwards: (() => void) | undefined;
    const release = cancellation?.onCancel(() => {
      ended = true;
      cancelling = control.cancel?.(client);
      heardAfterwards = control.cancelSilence?.set(giveUp);
    });
    return (error, result) => {
      if (timer !== undefined) clearTimeout(timer);
      heard?.();
      heardAfterwards?.();
      release?.();
      const reason = error != null && ended ? endedWith(error, control.lostIsUndone) : error;
      cancellation?.spend(performance.now() - sinceMs);
      control.onEnd?.(sinceMs, reason);
      // A cancel request still in flight must not hit the next statement.
      if (cancelling === undefined) done(reason, result);
      else void cancelling.then(() => done(reason, result));
    };
  }

  function start(args: unknown[], loan: Cancellation | undefined, done: Callback): void {
    const [config] = args;
    if (loan?.cancelled) {
      process.nextTick(done, statementCancelled());
      return;
    }
    received.reset();
    const watched = watch(loan, done);
    if (config instanceof NamedQuery) {
      config.callback = watched;
      query(config);
    } else if (control.begin !== undefined && textOf(config) === 'BEGIN') {
      query(control.begin, (error: unknown, results: unknown) =>
        watched(error, Array.isArray(results) ? results[0] : results),
      );
    } else query(...args, watched);
  }

  function limited(...args: unknown[]): unknown {
    const [config] = args;
    if (config instanceof NamedQuery) return start(args, lending.to, config.callback as Callback);
    const loan = textOf(config)?.startsWith('ROLLBACK') ? undefined : lending.to;
    const callback = args.findIndex((argument) => typeof argument === 'function');
    if (callback >= 0) return start(args.slice(0, callback), loan, args[callback] as Callback);
    return new Promise((resolve, reject) =>
      start(args, loan, (error, result) => (error == null ? resolve(result) : reject(error))),
    );
  }

  client.query = limited as pg.ClientBase['query'];
}

/** How to connect to a server. */
export interface ServerConnection extends ClientConfig {
  /** True if the connection may continue without TLS where the server offers none. */
  readonly tlsIsOptional?: boolean;
}

/** The part of pg's connection that parses the messages of the server. */
interface ParsingConnection extends pg.Connection {
  attachListeners(stream: Duplex): void;
}

/** Response to SSLRequest: the server has no TLS and goes on without (PostgreSQL protocol, "SSL Session Encryption"). */
const NO_TLS = 'N';

/** A client of pg that can continue without TLS. pg itself ends the connection there. */
export class ServerClient extends pg.Client {
  declare readonly connection: ParsingConnection;
  /** The process id for cancel requests, which a pooler makes up. Null if the server sends none. */
  declare readonly processID: number | null;

  constructor(config: ServerConnection = {}) {
    super(config);
    if (config.tlsIsOptional === true) this.connection.once('connect', () => this.#acceptNoTls());
  }

  #acceptNoTls(): void {
    const { connection } = this;
    const { stream } = connection;
    const [negotiate, ...others] = stream.listeners('data');
    if (negotiate === undefined || others.length > 0)
      throw new Error('unexpected data listeners on a pg connection');
    stream.removeAllListeners('data').once('data', (response: Buffer) => {
      if (response.toString('latin1') !== NO_TLS) return negotiate(response);
      connection.attachListeners(stream);
      connection.emit('sslconnect');
    });
  }
}

/**
 * How pg reads `sslmode`. `require` and `verify-ca` check the certificate and the host name, as pg does, which is stricter
 * than libpq: pg writes a warning to standard error for these names. `allow` uses TLS first, as `prefer` does.
 */
const MODES: Readonly<Record<string, string>> = {
  allow: 'no-verify',
  prefer: 'no-verify',
  require: 'verify-full',
  'verify-ca': 'verify-full',
};
const OPTIONAL = new Set(['allow', 'prefer']);

/** How to connect to the server that a URL names. */
export function connectionTo(url: string): ServerConnection {
  const target = new URL(url);
  const mode = target.searchParams.get('sslmode');
  if (mode === null) return { connectionString: url };
  // PostgreSQL has no TLS on a socket, and libpq ignores sslmode there.
  const isSocket = (target.searchParams.get('host') ?? decodeURIComponent(target.hostname)).startsWith('/');
  target.searchParams.set('sslmode', isSocket ? 'disable' : (MODES[mode] ?? mode));
  return { connectionString: target.href, tlsIsOptional: !isSocket && OPTIONAL.has(mode) };
}
