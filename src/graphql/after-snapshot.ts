import { readSnapshotName } from '../events/log.ts';
import type { Queryable } from '../platform/db/statement.ts';
import type { Context } from './context.ts';

/**
 * What to read from where several statements answer. If the client asks for it, what is known of the event log is read before
 * the first of them: no change that one of them does not show is older.
 */
export function afterSnapshot({ db, onSnapshot }: Pick<Context, 'db' | 'onSnapshot'>): Queryable {
  if (onSnapshot === undefined) return db;
  let told: Promise<void> | undefined;
  return {
    async query(statement, values) {
      told ??= readSnapshotName(db).then(onSnapshot);
      await told;
      return db.query(statement, values);
    },
  };
}
