import { getNullableType, isListType } from 'graphql';
import type { Piece } from './json-text.ts';
import type { EdgePlan, ObjectPlan } from './plan.ts';

/** Whether a field returns several nodes, in the order of its ids. */
export const isNodeList = ({ field }: Pick<EdgePlan, 'field'>): boolean =>
  isListType(getNullableType(field.type));

/**
 * The ids of several nodes as rows, from the array in a parameter. The subquery hides the array's length, so PostgreSQL
 * assumes ten ids for a custom plan as it does for the generic plan. With the length, a custom plan for fewer ids
 * would have the lower cost, and the statement would be planned at every execution.
 */
export const idRows = (parameter: string): string =>
  `unnest((SELECT ${parameter}::uuid[])) WITH ORDINALITY AS k(id, n)`;

/** The id of the row of `idRows` that is being looked at. */
export const ROW_ID = 'k.id';

/**
 * The JSON of nodes. An id does not tell its type, so it is looked up in one table after another until a row is found.
 * A row that is found has a text, not NULL: nothing that a text is made of is NULL, because members that may be null
 * are written as `null` and all others show columns that are NOT NULL. `parameter` holds the id, or the ids as an
 * array. `rowWithId` is the JSON of a row, NULL if there is none.
 */
export function nodesPieces(
  plan: EdgePlan,
  parameter: string,
  rowWithId: (object: ObjectPlan, id: string) => string,
): readonly Piece[] {
  const { types = [] } = plan;
  const isList = isNodeList(plan);
  const id = isList ? ROW_ID : `${parameter}::uuid`;
  const node = `coalesce(${[...types.map((type) => rowWithId(type, id)), "'null'"].join(', ')})`;
  if (!isList) return [{ sql: node }];
  const list = `SELECT string_agg(${node}, ',' ORDER BY k.n) FROM ${idRows(parameter)}`;
  return [{ text: '[' }, { sql: `coalesce((${list}), '')` }, { text: ']' }];
}
