import pg from 'pg';
import type { Deadline } from '../deadline.ts';
import type { Cancellation } from './cancellation.ts';
import { CONNECTION_LOST, TRANSACTION_RESOLUTION_UNKNOWN } from './errors.ts';
import { NamedQuery } from './named-query.ts';

/** What can be done about a statement that runs too long or for nobody. */
export interface StatementControl {
  /** How long a statement may run before `overrun`; undefined where the server sees to it. */
  readonly statementLimitMs?: number | undefined;
  /** When a server that has not answered by then is taken for gone; undefined where it cannot go alone. */
  readonly silence?: Deadline | undefined;
  /** The same from when it was asked to cancel. */
  readonly cancelSilence?: Deadline | undefined;
  /** What opens a transaction in place of BEGIN, where its limits come with it. */
  readonly begin?: string | undefined;
  /** Whether what was ended is undone even where the connection was lost over it. */
  readonly lostIsUndone?: boolean;
  /** Ends what runs on a connection past its time. Resolves once it can hit nothing later. */
  overrun(client: pg.ClientBase): Promise<void> | undefined;
  /** Asks to end what runs on a connection because nobody waits for it. Resolves once it can hit nothing later. */
  cancel(client: pg.ClientBase): Promise<void>;
}

/** On whose behalf a connection is lent right now. */
interface Lending {
  to: Cancellation | undefined;
}

const lendings = new WeakMap<pg.ClientBase, Lending>();

/** Ties what runs on a limited connection to a cancellation, until the next call. */
export function lendFor(client: pg.ClientBase, cancellation: Cancellation | undefined): void {
  const lending = lendings.get(client);
  if (lending === undefined) throw new Error('the statements of the connection are not limited');
  lending.to = cancellation;
}

const QUERY_CANCELED = '57014';

function databaseError(code: string, message: string, cause?: unknown): Error {
  return Object.assign(new pg.DatabaseError(message, 0, 'error'), { code, severity: 'ERROR', cause });
}

/** PostgreSQL's own error for it, whoever of us ended the statement. */
export function statementCancelled(cause?: unknown): Error {
  return databaseError(QUERY_CANCELED, 'the statement was cancelled', cause);
}

/** What became of a statement that we have ended: done or undone where the server says so, else nobody knows. */
function endedWith(error: unknown, lostIsUndone = false): unknown {
  const told = error instanceof pg.DatabaseError && !CONNECTION_LOST.test(error.code ?? '');
  if (told || lostIsUndone) return statementCancelled(error);
  return databaseError(
    TRANSACTION_RESOLUTION_UNKNOWN,
    'the connection was lost over a cancelled statement',
    error,
  );
}

function textOf(config: unknown): string | undefined {
  return typeof config === 'string' ? config : (config as { text?: string }).text;
}

/** What the answer to a statement may have that nobody counts: a row of 2^29 characters would end the process. */
const MAX_UNCOUNTED_BYTES = 268_435_456;

/**
 * Counts what comes in on a connection before pg gathers it. What is past the bound of the loan, or of a statement on
 * nobody's behalf, ends the connection: the rest of a row could not be refused otherwise. Returns what begins anew.
 */
function boundReceived(client: pg.ClientBase, lending: Lending): () => void {
  if (!(client instanceof pg.Client)) throw new Error('a connection of another kind than pg’s own');
  const { stream } = client.connection;
  let uncounted = 0;
  // In place of pg's own listener, which it calls: two of them cost more than what is done here.
  const [parse, ...others] = stream.listeners('data');
  if (parse === undefined || others.length > 0)
    throw new Error('pg listens to its connections in another way');
  stream.removeAllListeners('data').on('data', (chunk: Buffer) => {
    const { to } = lending;
    uncounted += chunk.length;
    const taken = to === undefined ? uncounted <= MAX_UNCOUNTED_BYTES : to.receive(chunk.length);
    if (!taken) stream.destroy(new Error('the database has sent more than can be held'));
    parse(chunk);
  });
  return () => {
    uncounted = 0;
  };
}

type Callback = (error: unknown, result?: unknown) => void;

/**
 * Has every statement on a connection end in time, whichever way it gets there: our own, a transaction's BEGIN, and
 * Prisma's. A cancelled loan begins nothing more but the ROLLBACK.
 */
export function limitStatements(client: pg.ClientBase, control: StatementControl): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const lending: Lending = { to: undefined };
  lendings.set(client, lending);
  const countAnew = boundReceived(client, lending);

  /** Watches what is about to run. `done` is called with its outcome, the error told in our own words. */
  function watch(cancellation: Cancellation | undefined, done: Callback): Callback {
    let ended = false;
    let cancelling: Promise<void> | undefined;
    const end = () => {
      ended = true;
      cancelling = control.overrun(client);
    };
    const timer =
      control.statementLimitMs === undefined ? undefined : setTimeout(end, control.statementLimitMs);
    // One that vanished without a word is waited for as long as TCP tries: for hours, where all was acknowledged.
    const giveUp = () => void (client as pg.Client).end();
    const heard = control.silence?.set(giveUp);
    let heardAfterwards: (() => void) | undefined;
    const release = cancellation?.onCancel(() => {
      ended = true;
      cancelling = control.cancel(client);
      heardAfterwards = control.cancelSilence?.set(giveUp);
    });
    return (error, result) => {
      if (timer !== undefined) clearTimeout(timer);
      heard?.();
      heardAfterwards?.();
      release?.();
      const reason = ended && error != null ? endedWith(error, control.lostIsUndone) : error;
      // What comes next on the connection must not be hit by a request that is still on its way.
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
    countAnew();
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
