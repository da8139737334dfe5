import type { GraphQLSchema } from 'graphql';
import type { Context } from '../context.ts';
import { loadByIds } from '../read/loads.ts';
import type { Identified } from '../read/read.ts';
import { readInRounds } from '../read/rounds.ts';
import { nodeTypes } from './node-type.ts';

/** A row with its type, as graphql-js calls it. */
export interface NodeRow extends Identified {
  readonly __typename?: string;
}

/**
 * The rows with the ids, in the order of the ids; null for an id without a row and for undefined. Any number of
 * ids takes one statement per type, those of other root fields included. Throws DatabaseError.
 */
export async function loadNodes(
  context: Context,
  schema: GraphQLSchema,
  ids: readonly (string | undefined)[],
): Promise<(NodeRow | null)[]> {
  const wanted = [...new Set(ids.filter((id) => id !== undefined))];
  if (wanted.length === 0) return ids.map(() => null);
  // The same round reads the ids of all root fields.
  readInRounds(context);
  const lists = await Promise.all(
    nodeTypes(schema).map(async ({ type, entity, ids: onlyIds, scope }) => {
      // `resolveType` refuses the row if the scope is missing. The size of the row would count towards the limits.
      const isRefused = !context.caller.scopes.has(scope);
      const rows = await loadByIds(context, isRefused ? onlyIds : entity, wanted);
      return rows.flatMap((row) => (row === undefined ? [] : { ...row, __typename: type.name }));
    }),
  );
  // As in look-ahead, the first type that has a row with the id counts.
  const found = new Map(lists.toReversed().flatMap((rows) => rows.map((row) => [row.id, row])));
  return ids.map((id) => (id === undefined ? null : (found.get(id) ?? null)));
}
