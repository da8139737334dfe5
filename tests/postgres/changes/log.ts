import type { Database } from '../../../src/platform/db/database.ts';
import { statement } from '../../../src/platform/db/statement.ts';
import type { ChangeRow } from '../../model/tables.ts';

/** What a transaction has changed, in the place of the order that its id gives it. */
export interface Slot {
  changes: readonly ChangeRow[];
  committed: boolean;
}

/** An event of the log. */
export interface Logged {
  readonly number: number;
  readonly change: ChangeRow;
}

const LOG = statement<ChangeRow & { readonly number: number }>(
  'test_all_changes',
  `SELECT id AS number, kind, root_id::text AS "postId", part_id::text AS "commentId", owner_id::text AS "authorId"
   FROM events ORDER BY era, events.xid, id`,
);

/** All events, in order. */
export async function readLog(database: Pick<Database, 'query'>): Promise<readonly Logged[]> {
  const rows = await database.query(LOG, []);
  return rows.map(({ number, ...change }) => ({ number, change }));
}
