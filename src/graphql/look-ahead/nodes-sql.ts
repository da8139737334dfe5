import { getNullableType, isListType } from 'graphql';
import type { Piece } from './json-text.ts';
import type { EdgePlan, ObjectPlan } from './plan.ts';

/** Whether a field returns several nodes, in the order of its ids. */
export const isNodeList = ({ field }: Pick<EdgePlan, 'field'>): boolean =>
  isListType(getNullableType(field.type));

/**
 * The ids of several nodes as rows, from the array in a parameter. In a subquery, their number is unknown to custom
 * and generic plans alike. Otherwise PostgreSQL plans every time for fewer ids than the ten that it assumes.
 */
export const idRows = (parameter: string): string =>
  `unnest((SELECT ${parameter}::uuid[])) WITH ORDINALITY AS k(id, n)`;

/** The id of the row of `idRows` that is being looked at. */
export const ROW_ID = 'k.id';

/**
 * The JSON of nodes. An id does not tell its type, so it is looked up in one table after another until a row is
 * found. `parameter` holds the id, or the ids as an array. `rowWithId` is the JSON of a row, NULL if there is none.
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
