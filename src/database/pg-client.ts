import type { Duplex } from 'node:stream';
import type { ClientConfig } from 'pg';
import pg from 'pg';
import type { Deadline } from '../platform/deadline.ts';
import { eventLoop, readThrottle, type ThrottledSource } from '../platform/fairness/event-loop.ts';
import type { Cancellation } from './cancellation.ts';
import { CONNECTION_LOST, TRANSACTION_RESOLUTION_UNKNOWN } from './errors.ts';
import { NamedQuery } from './pg-query.ts';

export interface StatementControl {
  /** Undefined if the server enforces the limit. */
  readonly statementLimitMs?: number | undefined;
  /**
   * An unresponsive server is presumed dead after this time. Undefined if the server runs in this process.
   */
  readonly silence?: Deadline | undefined;
  readonly cancelSilence?: Deadline | undefined;
  /** Replaces BEGIN if each transaction has to set its limits. */
  readonly begin?: string | undefined;
  /** A cancelled statement is rolled back even if the connection is lost. */
  readonly lostIsUndone?: boolean;
  readonly onEnd?: ((sinceMs: number, error: unknown) => void) | undefined;
  /** Resolves once the cancel request can no longer hit a later statement. */
  overrun?(client: pg.ClientBase): Promise<void> | undefined;
  /** Resolves once the cancel request can no longer hit a later statement. */
  cancel?(client: pg.ClientBase): Promise<void>;
}

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

export function statementCancelled(cause?: unknown): Error {
  return databaseError(QUERY_CANCELED, 'the statement was cancelled', cause);
}

/** The outcome of a cancelled statement is unknown unless the server reported it. */
function toCancelledError(error: unknown, lostIsUndone = false): unknown {
  const told = error instanceof pg.DatabaseError && !CONNECTION_LOST.test(error.code ?? '');
  if (told || lostIsUndone) return statementCancelled(error);
  return databaseError(
    TRANSACTION_RESOLUTION_UNKNOWN,
    'the connection was lost while a statement was being cancelled',
    error,
  );
}

function getSql(config: unknown): string | undefined {
  return typeof config === 'string' ? config : (config as { text?: string }).text;
}

/** Limits results outside of a cancellation, because a row of 2^29 characters would crash the process. */
const MAX_UNCOUNTED_BYTES = 268_435_456;
/** libuv reads at most 64 KiB at a time. */
const LARGE_CHUNK = 65_536;

/**
 * Bytes are counted before pg buffers them. Too many bytes close the connection, because the protocol has no
 * other way to reject the rest of a row.
 */
function boundReceived(client: pg.Client, lending: Lending): { reset(): void } {
  const { stream } = client.connection;
  let uncounted = 0;
  // pg's listener is replaced and called, because a second listener would cost more than the counting.
  const [parse, ...others] = stream.listeners('data');
  if (parse === undefined || others.length > 0)
    throw new Error('unexpected data listeners on a pg connection');
  stream.removeAllListeners('data').on('data', (chunk: Buffer) => {
    const { to } = lending;
    uncounted += chunk.length;
    const taken = to === undefined ? uncounted <= MAX_UNCOUNTED_BYTES : to.receive(chunk.length);
    if (!taken) stream.destroy(new Error('the database sent more data than the bound allows'));
    // Parsing copies the chunk, which costs time.
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

/** After a cancellation, the connection runs only ROLLBACK. */
export function limitStatements(client: pg.ClientBase, control: StatementControl): void {
  if (!(client instanceof pg.Client)) throw new Error('the connection is not a pg.Client');
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const lending = createLending(client.connection.stream);
  lendings.set(client, lending);
  const received = boundReceived(client, lending);

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
    // Without this timer, only TCP notices a vanished server, hours later if the server acknowledged every
    // packet.
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
      const reason = error != null && ended ? toCancelledError(error, control.lostIsUndone) : error;
      cancellation?.spend(performance.now() - sinceMs);
      control.onEnd?.(sinceMs, reason);
      // A cancel request in flight must not hit the next statement.
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
    } else if (control.begin !== undefined && getSql(config) === 'BEGIN') {
      query(control.begin, (error: unknown, results: unknown) =>
        watched(error, Array.isArray(results) ? results[0] : results),
      );
    } else query(...args, watched);
  }

  function limited(...args: unknown[]): unknown {
    const [config] = args;
    if (config instanceof NamedQuery) return start(args, lending.to, config.callback as Callback);
    const loan = getSql(config)?.startsWith('ROLLBACK') ? undefined : lending.to;
    const callback = args.findIndex((argument) => typeof argument === 'function');
    if (callback >= 0) return start(args.slice(0, callback), loan, args[callback] as Callback);
    return new Promise((resolve, reject) =>
      start(args, loan, (error, result) => (error == null ? resolve(result) : reject(error))),
    );
  }

  client.query = limited as pg.ClientBase['query'];
}

export interface ServerConnection extends ClientConfig {
  readonly tlsIsOptional?: boolean;
}

/** Applies unless the URL has libpq's `connect_timeout`. libpq itself has no limit then. */
export const CONNECT_TIMEOUT_MS = 5_000;

interface ParsingConnection extends pg.Connection {
  attachListeners(stream: Duplex): void;
}

/** Response to SSLRequest of a server without TLS (PostgreSQL protocol, "SSL Session Encryption"). */
const NO_TLS = 'N';

/** pg itself closes the connection when the server has no TLS. */
export class ServerClient extends pg.Client {
  declare readonly connection: ParsingConnection;
  /** Process id for cancel requests, which a pooler invents. Null if the server sends none. */
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
 * Maps libpq's `sslmode` to pg's. `require` and `verify-ca` check the certificate and the host name, as pg
 * does and libpq does not. pg would write a warning to standard error for these names. `allow` tries TLS
 * first, like `prefer`.
 */
const MODES: Readonly<Record<string, string>> = {
  allow: 'no-verify',
  prefer: 'no-verify',
  require: 'verify-full',
  'verify-ca': 'verify-full',
};
const OPTIONAL = new Set(['allow', 'prefer']);

export function connectionTo(url: string): ServerConnection {
  const target = new URL(url);
  const seconds = Number(target.searchParams.get('connect_timeout'));
  const connectionTimeoutMillis = seconds * 1_000 || CONNECT_TIMEOUT_MS;
  const mode = target.searchParams.get('sslmode');
  if (mode === null) return { connectionString: url, connectionTimeoutMillis };
  // PostgreSQL has no TLS on a Unix domain socket, and libpq ignores sslmode there.
  const isSocket = (target.searchParams.get('host') ?? decodeURIComponent(target.hostname)).startsWith('/');
  target.searchParams.set('sslmode', isSocket ? 'disable' : (MODES[mode] ?? mode));
  const tlsIsOptional = !isSocket && OPTIONAL.has(mode);
  return { connectionString: target.href, connectionTimeoutMillis, tlsIsOptional };
}
