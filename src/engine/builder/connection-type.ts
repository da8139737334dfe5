import type { ConnectionPage } from '../queries/loaders.ts';
import { encodeCursor, type Position } from '../queries/pagination.ts';
import type { Types } from './builder.ts';
import type { ConnectionRef, NodeRef } from './builder-methods.ts';
import type { SchemaToolkit } from './schema-toolkit.ts';

/** The field that returns the connection has already counted the items. */
const COUNTED = { field: 1, multiplier: 1 };

export function defineConnection<Row extends Position>(
  { builder, PageInfo }: SchemaToolkit,
  name: string,
  node: NodeRef<Types, Row>,
): ConnectionRef<Types, Row> {
  const edge = builder.objectRef<Row>(`${name}Edge`).implement({
    description: `A ${name} and its position in a connection.`,
    fields: (t) => ({
      cursor: t.string({
        description: 'An opaque position in the list. It stays valid for as long as the list exists.',
        resolve: encodeCursor,
      }),
      node: t.field({ type: node, description: `The ${name}.`, resolve: (row) => row as never }),
    }),
  });
  const connection = builder.objectRef<ConnectionPage<Row>>(`${name}Connection`).implement({
    description: `A page of a list of ${name} items, stable while items are inserted and deleted.`,
    fields: (t) => ({
      edges: t.field({
        type: [edge],
        complexity: COUNTED,
        description: 'The items with their cursors.',
        resolve: ({ rows }) => [...rows],
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
        resolve: (slice) => slice,
      }),
    }),
  });
  return Object.assign(connection, { entity: node.entity });
}
