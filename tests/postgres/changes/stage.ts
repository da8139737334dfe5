import type { Database } from '../../../src/platform/db/database.ts';
import type { Caller } from '../../model/permissions.ts';
import type { Account, TestApp } from '../../support/app.ts';

export interface Stage {
  readonly app: TestApp;
  /** The first does what is in `between` after each of its statements for an operation. */
  readonly instances: readonly [Pick<TestApp, 'fetch'>, Pick<TestApp, 'fetch'>];
  /** One that begins to follow the log when all has happened. */
  readonly late: Pick<TestApp, 'fetch'>;
  readonly between: Between;
  readonly accounts: readonly (Account & { readonly caller: Caller })[];
}

export interface Between {
  act: (() => Promise<void>) | undefined;
}

/**
 * The same database, where something happens after the next statement of a query, before anybody has its rows. Events are
 * read without taking turns.
 */
export const interruptible = (database: Database, between: Between): Database => ({
  ...database,
  cancellable(cancellation, options) {
    const inner = database.cancellable(cancellation, options);
    return {
      async query(asked, values) {
        const rows = await inner.query(asked, values);
        const { act } = between;
        if (act === undefined || options?.takesTurns === false) return rows;
        between.act = undefined;
        await act();
        return rows;
      },
    };
  },
});
