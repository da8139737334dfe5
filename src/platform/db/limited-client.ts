import pg from 'pg';
import type { Deadline } from '../deadline.ts';
import type { Cancellation } from './cancellation.ts';
import { NamedQuery } from './named-query.ts';

/** What can be done about a statement that runs too long or for nobody. */
export interface StatementControl {
  /** How long a statement may run before `overrun`; undefined where the server sees to it. */
  readonly statementLimitMs?: number | undefined;
  /** When a server that has not answered by then is taken for gone; undefined where it cannot go alone. */
  readonly silence?: Deadline | undefined;
  /** Ends what runs on a connection past its time. */
  overrun(client: pg.ClientBase): void;
  /** Asks to end what runs on a connection because nobody waits for it. Resolves once it can hit nothing later. */
  cancel(client: pg.ClientBase): Promise<void>;
}

/** On whose behalf a connection is lent right now. */
const loans = new WeakMap<pg.ClientBase, Cancellation>();

/** Ties what runs on the connection to a cancellation, until the next call. */
export function lendFor(client: pg.ClientBase, cancellation: Cancellation | undefined): void {
  if (cancellation === undefined) loans.delete(client);
  else loans.set(client, cancellation);
}

/** PostgreSQL's own error for it (SQLSTATE 57014, query_canceled), whoever of us ended the statement. */
export function statementCancelled(cause?: unknown): Error {
  const error = new pg.DatabaseError('the statement was cancelled', 0, 'error');
  return Object.assign(error, { code: '57014', severity: 'ERROR', cause });
}

type Callback = (error: unknown, result?: unknown) => void;

/**
 * Has every statement on a connection end in time, whichever way it gets there: our own, a transaction's BEGIN, and
 * Prisma's. A cancelled loan begins nothing more but the ROLLBACK.
 */
export function limitStatements(client: pg.ClientBase, control: StatementControl): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;

  /** Watches what is about to run. `done` is called with its outcome, the error told in our own words. */
  function watch(cancellation: Cancellation | undefined, done: Callback): Callback {
    let ended = false;
    let cancelling: Promise<void> | undefined;
    const end = () => {
      ended = true;
      control.overrun(client);
    };
    const timer =
      control.statementLimitMs === undefined ? undefined : setTimeout(end, control.statementLimitMs);
    // One that vanished without a word is waited for as long as TCP tries: for hours, where all was acknowledged.
    const heard = control.silence?.set(() => void (client as pg.Client).end());
    const release = cancellation?.onCancel(() => {
      ended = true;
      cancelling = control.cancel(client);
    });
    return (error, result) => {
      if (timer !== undefined) clearTimeout(timer);
      heard?.();
      release?.();
      const reason = ended && error != null ? statementCancelled(error) : error;
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
    const watched = watch(loan, done);
    if (config instanceof NamedQuery) {
      config.callback = watched;
      query(config);
    } else query(...args, watched);
  }

  function limited(...args: unknown[]): unknown {
    const [config] = args;
    const text = typeof config === 'string' ? config : (config as { text?: string }).text;
    const loan = text?.startsWith('ROLLBACK') ? undefined : loans.get(client);
    if (config instanceof NamedQuery) return start(args, loan, config.callback as Callback);
    const callback = args.findIndex((argument) => typeof argument === 'function');
    if (callback >= 0) return start(args.slice(0, callback), loan, args[callback] as Callback);
    return new Promise((resolve, reject) =>
      start(args, loan, (error, result) => (error == null ? resolve(result) : reject(error))),
    );
  }

  client.query = limited as pg.ClientBase['query'];
}
