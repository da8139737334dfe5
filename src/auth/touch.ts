import { type Statement, statement } from '../platform/db/statement.ts';

/**
 * A statement that stores the use of rows, given their ids. It takes no notice of rows that somebody has locked, as a
 * client's mutation can: their next use is stored, and neither they nor others in the statement wait. Locked in the
 * subquery, a row is one that still meets the condition.
 */
export const touch = (name: string, table: string, changes: string, condition: string): Statement<never> =>
  statement(
    name,
    `UPDATE ${table} SET ${changes} WHERE id IN (
       SELECT id FROM ${table} WHERE id = ANY($1::uuid[]) AND ${condition} FOR NO KEY UPDATE SKIP LOCKED
     )`,
  );
