import pg from 'pg';
import type { Cancellation } from './cancellation.ts';

/** What can be done about a statement that runs too long or for nobody. */
export interface StatementControl {
  /** How long a statement may run before `overrun`; undefined where the server sees to it. */
  readonly statementLimitMs?: number | undefined;
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

type Callback = (error: Error | null | undefined, result?: unknown) => void;

/**
 * Has every statement on a connection end in time, whichever way it gets there: our own, a transaction's BEGIN, and
 * Prisma's. A cancelled loan begins nothing more but the ROLLBACK.
 */
export function limitStatements(client: pg.ClientBase, control: StatementControl): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;

  function watch(cancellation: Cancellation | undefined): (error: unknown) => Promise<unknown> {
    let ended = false;
    let cancelling: Promise<void> | undefined;
    const end = () => {
      ended = true;
      control.overrun(client);
    };
    const timer =
      control.statementLimitMs === undefined ? undefined : setTimeout(end, control.statementLimitMs);
    const release = cancellation?.onCancel(() => {
      ended = true;
      cancelling = control.cancel(client);
    });
    return async (error) => {
      clearTimeout(timer);
      release?.();
      // What comes next on the connection must not be hit by a request that is still on its way.
      await cancelling;
      return ended && error != null ? statementCancelled(error) : error;
    };
  }

  function limited(...args: unknown[]): unknown {
    const [config] = args;
    const text = typeof config === 'string' ? config : (config as { text?: string }).text;
    const loan = text?.startsWith('ROLLBACK') ? undefined : loans.get(client);
    const callback = args.findIndex((argument) => typeof argument === 'function');
    if (loan?.cancelled) {
      const error = statementCancelled();
      if (callback < 0) return Promise.reject(error);
      process.nextTick(args[callback] as Callback, error);
      return undefined;
    }
    const settle = watch(loan);
    if (callback >= 0) {
      const done = args[callback] as Callback;
      const watched: Callback = (error, result) =>
        void settle(error).then((reason) => done(reason as Error | null | undefined, result));
      return query(...args.with(callback, watched));
    }
    return (query(...args) as Promise<unknown>).then(
      (result) => settle(undefined).then(() => result),
      (error: unknown) =>
        settle(error).then((reason) => {
          throw reason;
        }),
    );
  }

  client.query = limited as pg.ClientBase['query'];
}
