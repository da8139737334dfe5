import './builder-methods.ts';
import { NODE, type NodeRow, requireNodeScope } from '../queries/node-type.ts';
import { type Builder, createBuilder } from './builder.ts';

export interface PageEnds {
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  readonly startCursor: string | null;
  readonly endCursor: string | null;
}

const definePageInfo = (builder: Builder) =>
  builder.objectRef<PageEnds>('PageInfo').implement({
    description: 'The position of a page in a connection.',
    fields: (t) => ({
      hasNextPage: t.exposeBoolean('hasNextPage', {
        description:
          'True if there are items after this page. When paging backwards, true if and only if `before` was given.',
      }),
      hasPreviousPage: t.exposeBoolean('hasPreviousPage', {
        description:
          'When paging forwards, true if and only if `after` was given. When paging backwards, true if there are items before this page.',
      }),
      startCursor: t.exposeString('startCursor', {
        nullable: true,
        description: 'The cursor of the first item, for `before`; null on an empty page.',
      }),
      endCursor: t.exposeString('endCursor', {
        nullable: true,
        description:
          'The cursor of the last item, for `after`; null on an empty page. After a page that a filter shortens, the last item read.',
      }),
    }),
  });

/** The type of a node decides which scope the caller needs. `resolveType` runs however the row was read. */
const defineNode = (builder: Builder) =>
  builder.interfaceRef<NodeRow>(NODE).implement({
    description: 'An object that `node` and `nodes` find by its id.',
    resolveType({ __typename }, context, { schema }) {
      requireNodeScope(__typename, context, schema);
      return __typename;
    },
    fields: (t) => ({
      id: t.exposeID('id', { description: 'A UUIDv7 that never changes.' }),
    }),
  });

export function createSchemaToolkit() {
  const builder = createBuilder();
  return { builder, Node: defineNode(builder), PageInfo: definePageInfo(builder) };
}

export type SchemaToolkit = ReturnType<typeof createSchemaToolkit>;
