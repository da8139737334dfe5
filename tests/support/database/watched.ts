import type { Database } from '../../../src/platform/db/database.ts';
import type { Statement } from '../../../src/platform/db/statement.ts';

/**
 * The same database with somebody who looks at every statement of the pool before it is sent, whoever it is for. What
 * `look` throws, the statement fails with. `seen` is shown the rows that are read for somebody.
 */
export function watchedDatabase(
  database: Database,
  look: (statement: Statement<unknown>) => Promise<void> | void,
  seen: (rows: readonly unknown[]) => void = () => undefined,
): Database {
  return {
    ...database,
    async query(statement, values) {
      await look(statement);
      return database.query(statement, values);
    },
    cancellable(cancellation) {
      const inner = database.cancellable(cancellation);
      return {
        async query(statement, values) {
          await look(statement);
          const rows = await inner.query(statement, values);
          seen(rows);
          return rows;
        },
      };
    },
  };
}
