import type { ArgBuilder, InputFieldMap, InputShapeFromFields, ObjectRef } from '@pothos/core';
import type { Scope } from '../../auth/scopes.ts';
import type { ListRelation } from '../queries/entity.ts';
import {
  type ConnectionPage,
  loadConnectionPages,
  loadPages,
  readConnectionPage,
  readPage,
} from '../queries/loaders.ts';
import {
  connectionPage,
  DEFAULT_LIMIT,
  MAX_LIMIT,
  MAX_OFFSET,
  type PageRange,
  type Position,
  parseListPage,
} from '../queries/pagination.ts';
import type { Types } from './builder.ts';

export type ArgumentBuilder = ArgBuilder<Types>;

export const limitArgument = (arg: ArgumentBuilder) =>
  arg.int({
    description: `The maximum number of items to return: 0 to ${MAX_LIMIT}, ${DEFAULT_LIMIT} if absent or null.`,
  });

export const offsetArgument = (arg: ArgumentBuilder) =>
  arg.int({
    description: `The number of items to skip: 0 to ${MAX_OFFSET}. Unstable while items are inserted, so prefer a connection for long lists.`,
  });

export const connectionArguments = (arg: ArgumentBuilder) => ({
  limit: limitArgument(arg),
  first: arg.int({ description: 'Relay’s name for `limit`. Send only one of them.' }),
  after: arg.string({
    description: 'Returns only the items after this cursor. If null, starts with the first item.',
  }),
  last: arg.int({
    description: `The maximum number of items to return from the end of the list or, with \`before\`, from before that cursor: 0 to ${MAX_LIMIT}, ${DEFAULT_LIMIT} if only \`before\` is given. Keeps the order of the list. Cannot be combined with \`first\` or \`limit\`.`,
  }),
  before: arg.string({
    description:
      'Returns only the items before this cursor. If null, ends with the last item. Cannot be combined with `after`.',
  }),
});

/** Skipping this many items costs as much as one field of an item. */
const SKIPPED_A_POINT = 10;

const within = (value: number, max: number) => Math.min(Math.max(value, 0), max);

/** Out-of-range arguments count as the nearest allowed value, because the resolver rejects them (contract: limits). */
function listCost({
  limit,
  first,
  last,
  offset,
}: {
  limit?: number | null | undefined;
  first?: number | null | undefined;
  last?: number | null | undefined;
  offset?: number | null | undefined;
}) {
  return {
    field: 1 + Math.ceil(within(offset ?? 0, MAX_OFFSET) / SKIPPED_A_POINT),
    multiplier: within(limit ?? first ?? last ?? DEFAULT_LIMIT, MAX_LIMIT),
  };
}

type ChildBuilder<Parent> = PothosSchemaTypes.ObjectFieldBuilder<Types, Parent>;
type RootBuilder = PothosSchemaTypes.QueryFieldBuilder<Types, Types['Root']>;

interface ListOptions<Type, Row extends object> {
  readonly type: Type;
  readonly list: ListRelation<Row>;
  readonly scope: Scope;
  readonly description: string;
}

export function childList<Parent extends { readonly id: string }, Row extends Position>(
  t: ChildBuilder<Parent>,
  {
    type,
    list,
    offset = true,
    ...options
  }: ListOptions<ObjectRef<Types, string | Row, Row>, Row> & { readonly offset?: boolean },
) {
  return t.loadableList({
    ...options,
    type,
    sql: { kind: 'many', list, page: parseListPage },
    byPath: true,
    complexity: listCost,
    args: { limit: limitArgument(t.arg), ...(offset ? { offset: offsetArgument(t.arg) } : {}) },
    resolve: (parent) => parent.id,
    load: async (ids: string[], context, args) => loadPages(context, list, ids, parseListPage(args)),
  });
}

export function childConnection<Parent extends { readonly id: string }, Row extends Position>(
  t: ChildBuilder<Parent>,
  { list, ...options }: ListOptions<ObjectRef<Types, ConnectionPage<Row>>, Row>,
) {
  return t.loadable({
    ...options,
    sql: { kind: 'connection', list, page: connectionPage },
    byPath: true,
    complexity: listCost,
    args: connectionArguments(t.arg),
    resolve: (parent) => parent.id,
    load: async (ids: string[], context, args) =>
      loadConnectionPages(context, list, ids, connectionPage(args)),
  });
}

interface RootOptions<Args extends InputFieldMap> {
  readonly args: Args;
  /** @throws {ApiError} BAD_USER_INPUT */
  readonly page: (args: InputShapeFromFields<Args>) => PageRange;
}

/** graphql-js gives look-ahead untyped arguments, which are coerced to the same types. */
const pageOfCoerced =
  <Args extends InputFieldMap>({ page }: RootOptions<Args>) =>
  (args: Record<string, unknown>): PageRange =>
    page(args as InputShapeFromFields<Args>);

export function rootList<Row extends Position, Args extends InputFieldMap>(
  t: RootBuilder,
  options: ListOptions<ObjectRef<Types, string | Row, Row>, Row> & RootOptions<Args>,
) {
  const { type, list, scope, description, args, page } = options;
  return t.field({
    type: [type],
    scope,
    description,
    args,
    sql: { kind: 'many', list, page: pageOfCoerced(options) },
    complexity: listCost,
    resolve: (_root, given, context) => readPage(context, list, page(given)),
  });
}

export function rootConnection<Row extends Position, Args extends InputFieldMap>(
  t: RootBuilder,
  options: ListOptions<ObjectRef<Types, ConnectionPage<Row>>, Row> & RootOptions<Args>,
) {
  const { type, list, scope, description, args, page } = options;
  return t.field({
    type,
    scope,
    description,
    args,
    sql: { kind: 'connection', list, page: pageOfCoerced(options) },
    complexity: listCost,
    resolve: (_root, given, context) => readConnectionPage(context, list, page(given)),
  });
}
