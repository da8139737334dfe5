import type { ListOrder } from '../queries/entity.ts';
import type { ConnectionPage } from '../queries/loaders.ts';
import { encodeCursor, MAX_COUNT, type Position } from '../queries/pagination.ts';
import type { Types } from './builder.ts';
import type { ConnectionRef, NodeRef } from './builder-methods.ts';
import type { SchemaToolkit } from './schema-toolkit.ts';

/** The field that returns the connection has already counted the items. */
const COUNTED = { field: 1, multiplier: 1 };

/** Counting ten rows in an index costs as much as one field of an item. */
const COUNT_COST = MAX_COUNT / 10;

interface Edge<Row extends Position> {
  readonly row: Row;
  readonly order: ListOrder | undefined;
}

interface ConnectionOptions {
  /** Adds `totalCount`, of the plural of the items. */
  readonly counts?: string;
  /** The name of the items in descriptions. */
  readonly item?: string;
}

export function defineConnection<Row extends Position>(
  { builder, PageInfo }: SchemaToolkit,
  name: string,
  node: NodeRef<Types, Row>,
  { counts, item = name }: ConnectionOptions = {},
): ConnectionRef<Types, Row> {
  const edge = builder.objectRef<Edge<Row>>(`${name}Edge`).implement({
    description: `A ${item} and its position in a connection.`,
    fields: (t) => ({
      cursor: t.string({
        description: 'An opaque position in the list. It stays valid for as long as the list exists.',
        resolve: ({ row, order }) => encodeCursor(row, order),
      }),
      node: t.field({ type: node, description: 'The item.', resolve: ({ row }) => row as never }),
    }),
  });
  const connection = builder.objectRef<ConnectionPage<Row>>(`${name}Connection`).implement({
    description: `A page of a list of ${item} items, stable while items are inserted and deleted.`,
    fields: (t) => ({
      edges: t.field({
        type: [edge],
        complexity: COUNTED,
        description: 'The items with their cursors.',
        resolve: ({ rows, order }) => rows.map((row) => ({ row, order })),
      }),
      nodes: t.field({
        type: [node],
        complexity: COUNTED,
        description: 'The items without cursors.',
        resolve: ({ rows }) => [...rows] as never,
      }),
      pageInfo: t.field({
        type: PageInfo,
        description: 'The position of this page.',
        resolve: ({ start, end, order, hasNextPage, hasPreviousPage }) => ({
          hasNextPage,
          hasPreviousPage,
          startCursor: start === undefined ? null : encodeCursor(start, order),
          endCursor: end === undefined ? null : encodeCursor(end, order),
        }),
      }),
    }),
  });
  if (counts !== undefined)
    builder.objectFields(connection, (t) => ({
      totalCount: t.int({
        extensions: { onceCost: COUNT_COST },
        description: `The number of ${counts} in the whole list, exact below ${MAX_COUNT.toLocaleString('en')}. ${MAX_COUNT.toLocaleString('en')} means ${MAX_COUNT.toLocaleString('en')} or more. Costs as much as ${COUNT_COST.toLocaleString('en')} fields.`,
        resolve: ({ count }, _args, context) => count(context),
      }),
    }));
  return Object.assign(connection, { entity: node.entity });
}
