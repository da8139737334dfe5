import type { Database } from '../../../../src/platform/db/database.ts';
import { DatabaseError } from '../../../../src/platform/db/errors.ts';

/** The statements that read events for subscribers, by the database or by resolvers. */
const EVENT_READS =
  /^(events_postCreated|events_changes|posts_by_id|users_by_id|comments_of_post|tags_of_posts)/;

/** What happens to statements that read events. */
export interface Disturbance {
  /** So many of the next statements fail as they do without a database. */
  failures: number;
  /** Results of statements that have been run wait for this. */
  held: Promise<void> | undefined;
}

/** The same database, where statements that read events may fail, or give their results later. */
export function disturbed(database: Database, disturbance: Disturbance): Database {
  return {
    ...database,
    cancellable(cancellation) {
      const inner = database.cancellable(cancellation);
      return {
        async query(statement, values) {
          if (!EVENT_READS.test(statement.name)) return inner.query(statement, values);
          if (disturbance.failures > 0) {
            disturbance.failures -= 1;
            throw new DatabaseError('unavailable', new Error('as if the database were lost'));
          }
          const rows = await inner.query(statement, values);
          await disturbance.held;
          return rows;
        },
      };
    },
  };
}
