import type { GraphQLSchema } from 'graphql';
import { badInput } from '../../platform/errors.ts';
import type { Context } from '../core/context.ts';
import { costsPerItemOf, MAX_ITEMS } from '../core/field-options.ts';
import { parseId } from '../core/input.ts';
import { enableLoaderBatches, type Identified, loadByIds, loadOwnByIds } from '../queries/loaders.ts';
import { type NodeRow, type NodeType, nodeTypes } from '../queries/node-type.ts';
import type { SchemaToolkit } from './schema-toolkit.ts';

async function loadRows(
  context: Context,
  { entity, ids: onlyIds, scope, owner }: NodeType,
  wanted: readonly string[],
): Promise<readonly (Identified | undefined)[]> {
  const isRejected = !context.caller.scopes.has(scope);
  if (owner !== undefined) return isRejected ? [] : loadOwnByIds(context, entity, owner, wanted);
  // `resolveType` rejects the row if the scope is missing. Only the id is read, because the size of the row would
  // count towards the limits.
  return loadByIds(context, isRejected ? onlyIds : entity, wanted);
}

/**
 * Returns null for an id without a row. Ids of all root fields share one statement per type.
 * @throws {DatabaseError}
 */
async function loadNodes(
  context: Context,
  schema: GraphQLSchema,
  ids: readonly (string | undefined)[],
): Promise<(NodeRow | null)[]> {
  const wanted = [...new Set(ids.filter((id) => id !== undefined))];
  if (wanted.length === 0) return ids.map(() => null);
  enableLoaderBatches(context);
  const lists = await Promise.all(
    nodeTypes(schema).map(async (nodeType) => {
      const rows = await loadRows(context, nodeType, wanted);
      return rows.flatMap((row) => (row === undefined ? [] : { ...row, __typename: nodeType.type.name }));
    }),
  );
  // As in look-ahead, the first type that has a row with the id counts.
  const found = new Map(lists.toReversed().flatMap((rows) => rows.map((row) => [row.id, row])));
  return ids.map((id) => (id === undefined ? null : (found.get(id) ?? null)));
}

/**
 * @returns undefined for each string that is no UUID
 * @throws {ApiError} BAD_USER_INPUT
 */
function parseIds(ids: readonly unknown[]): (string | undefined)[] {
  if (ids.length > MAX_ITEMS)
    throw badInput('ids', `must contain at most ${MAX_ITEMS} ids, but contains ${ids.length}.`);
  return ids.map((id) => parseId(String(id)));
}

const SCOPES =
  'Each object needs the scope of its type; without the scope, the object is null with the error FORBIDDEN.';

export function defineNodeQueries({ builder, Node }: SchemaToolkit): void {
  builder.queryFields((t) => ({
    node: t.field({
      type: Node,
      nullable: true,
      sql: { kind: 'by-id', ids: ({ id }) => [parseId(String(id))] },
      description: `The object with this id, or null if there is none. ${SCOPES}`,
      args: {
        id: t.arg.id({
          required: true,
          description: 'The object’s id. A string that is not a UUID matches nothing.',
        }),
      },
      resolve: async (_root, { id }, context, { schema }) => {
        const [row = null] = await loadNodes(context, schema, [parseId(id)]);
        return row;
      },
    }),
    nodes: t.field({
      type: [Node],
      nullable: { list: false, items: true },
      sql: { kind: 'by-id', ids: ({ ids }) => parseIds(ids as readonly unknown[]) },
      ...costsPerItemOf('ids'),
      description: `The objects with these ids, in the order of the ids, each null if there is none. ${SCOPES}`,
      args: {
        ids: t.arg.idList({
          required: true,
          description: `The objects’ ids, at most ${MAX_ITEMS}. An id may occur more than once. A string that is not a UUID matches nothing.`,
        }),
      },
      resolve: (_root, { ids }, context, { schema }) => loadNodes(context, schema, parseIds(ids)),
    }),
  }));
}
