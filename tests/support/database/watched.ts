import type { Database } from '../../../src/database/database.ts';
import type { Parameter, Queryable, Statement } from '../../../src/database/statement.ts';

/** What an instance asks for itself, at times of its own, and not for a request. */
const OF_INSTANCE = /^(?:blocks_read|account_limits_read|clock_|client_uses_|deprecated_uses_|text_uses_)/;

export const isOfRequest = ({ name }: Pick<Statement<unknown>, 'name'>): boolean => !OF_INSTANCE.test(name);

/**
 * The same database with somebody who looks at every statement of the pool before it is sent, whoever it is for. What
 * `look` throws, the statement fails with. `seen` is shown the rows that are read for somebody, and holds them up.
 */
export function watchedDatabase(
  database: Database,
  look: (statement: Statement<unknown>, values: readonly Parameter[]) => Promise<void> | void,
  seen: (rows: readonly unknown[], statement: Statement<unknown>) => unknown = () => undefined,
): Database {
  const watched = (inner: Queryable): Queryable => ({
    async query(statement, values) {
      await look(statement, values);
      const rows = await inner.query(statement, values);
      await seen(rows, statement);
      return rows;
    },
  });
  return {
    ...database,
    async query(statement, values) {
      await look(statement, values);
      return database.query(statement, values);
    },
    cancellable: (cancellation, options) => watched(database.cancellable(cancellation, options)),
    owned: (owner, work) => watched(database.owned(owner, work)),
  };
}
