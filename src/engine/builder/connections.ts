import type { ArgBuilder, InputFieldMap, InputShapeFromFields, ObjectRef } from '@pothos/core';
import type { ArgumentNode } from 'graphql';
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
  rowsToCheck,
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
    description: `The number of items from the end of the list or before \`before\`: 0 to ${MAX_LIMIT}, ${DEFAULT_LIMIT} with \`before\` alone. Not with \`first\` or \`limit\`.`,
  }),
  before: arg.string({
    description:
      'Returns only the items before this cursor. If null, ends with the last item. Cannot be combined with `after`.',
  }),
});

/** Skipping this many items costs as much as one field of an item. */
const SKIPPED_A_POINT = 10;

/** A row that is checked is read with its values, so it costs as much as five fields. */
const CHECK_COST = 5;

const within = (value: number, max: number) => Math.min(Math.max(value, 0), max);

interface Sizes {
  readonly limit?: number | null | undefined;
  readonly first?: number | null | undefined;
  readonly last?: number | null | undefined;
  readonly offset?: number | null | undefined;
  /** See `RowCheck`. */
  readonly checksRows?: boolean;
}

/** Out-of-range arguments count as the nearest allowed value, because the resolver rejects them (contract: limits). */
function listCost({ limit, first, last, offset, checksRows = false }: Sizes) {
  const skipped = within(offset ?? 0, MAX_OFFSET);
  const items = within(limit ?? first ?? last ?? DEFAULT_LIMIT, MAX_LIMIT);
  return {
    field:
      1 +
      Math.ceil(skipped / SKIPPED_A_POINT) +
      (checksRows ? CHECK_COST * rowsToCheck(items + 1, skipped) : 0),
    multiplier: items,
  };
}

/**
 * True if the arguments may make the list check its rows one by one. The function gets arguments as they stand in the
 * document, so the complexity does not depend on the values of variables.
 */
type RowCheck = (given: readonly ArgumentNode[]) => boolean;

type ChildBuilder<Parent> = PothosSchemaTypes.ObjectFieldBuilder<Types, Parent>;
type RootBuilder = PothosSchemaTypes.QueryFieldBuilder<Types, Types['Root']>;

type Narrowing = Pick<PageRange, 'order' | 'filter'>;

/** Further arguments of a list, which change its order or leave out rows. */
export interface ListArguments<Extra extends InputFieldMap> {
  readonly args: (arg: ArgumentBuilder) => Extra;
  /** @throws {ApiError} BAD_USER_INPUT */
  readonly narrow: (args: InputShapeFromFields<Extra>) => Narrowing;
  readonly checksRows: RowCheck;
}

interface ListOptions<Type, Row extends object> {
  readonly type: Type;
  readonly list: ListRelation<Row>;
  readonly scope: Scope;
  readonly description: string;
}

interface ChildListOptions<Type, Row extends object, Extra extends InputFieldMap>
  extends ListOptions<Type, Row> {
  readonly narrowed?: ListArguments<Extra>;
  readonly ownOnly?: boolean;
}

/** graphql-js gives look-ahead untyped arguments, which are coerced to the same types. */
const narrowing =
  <Extra extends InputFieldMap>(narrowed: ListArguments<Extra> | undefined) =>
  (args: object): Narrowing =>
    narrowed?.narrow(args as InputShapeFromFields<Extra>) ?? {};

const checkExtension = (checksRows: RowCheck | undefined) =>
  checksRows === undefined ? {} : { extensions: { checksRows } };

export function childList<
  Parent extends { readonly id: string },
  Row extends Position,
  Extra extends InputFieldMap,
>(
  t: ChildBuilder<Parent>,
  {
    type,
    list,
    offset = true,
    narrowed,
    ...options
  }: ChildListOptions<ObjectRef<Types, string | Row, Row>, Row, Extra> & { readonly offset?: boolean },
) {
  const narrow = narrowing(narrowed);
  const page = (args: object): PageRange => ({ ...parseListPage(args), ...narrow(args) });
  return t.loadableList({
    ...options,
    ...checkExtension(narrowed?.checksRows),
    type,
    sql: { kind: 'many', list, page },
    byPath: true,
    complexity: listCost,
    args: {
      limit: limitArgument(t.arg),
      ...(offset ? { offset: offsetArgument(t.arg) } : {}),
      ...narrowed?.args(t.arg),
    },
    resolve: (parent) => parent.id,
    load: async (ids: string[], context, args) => loadPages(context, list, ids, page(args)),
  });
}

export function childConnection<
  Parent extends { readonly id: string },
  Row extends Position,
  Extra extends InputFieldMap,
>(
  t: ChildBuilder<Parent>,
  { list, narrowed, ...options }: ChildListOptions<ObjectRef<Types, ConnectionPage<Row>>, Row, Extra>,
) {
  const narrow = narrowing(narrowed);
  const page = (args: object): PageRange => {
    const narrowedPage = narrow(args);
    return { ...connectionPage(args, narrowedPage.order), ...narrowedPage };
  };
  return t.loadable({
    ...options,
    ...checkExtension(narrowed?.checksRows),
    sql: { kind: 'connection', list, page },
    byPath: true,
    complexity: listCost,
    args: { ...connectionArguments(t.arg), ...narrowed?.args(t.arg) },
    resolve: (parent) => parent.id,
    load: async (ids: string[], context, args) => loadConnectionPages(context, list, ids, page(args)),
  });
}

interface RootOptions<Args extends InputFieldMap> {
  readonly args: Args;
  /** @throws {ApiError} BAD_USER_INPUT */
  readonly page: (args: InputShapeFromFields<Args>) => PageRange;
  readonly checksRows?: RowCheck;
  /** The complexity of the field besides its items. */
  readonly onceCost?: number;
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
  const { type, list, scope, description, args, page, checksRows } = options;
  return t.field({
    type: [type],
    scope,
    description,
    args,
    ...checkExtension(checksRows),
    sql: { kind: 'many', list, page: pageOfCoerced(options) },
    complexity: listCost,
    resolve: (_root, given, context) => readPage(context, list, page(given)),
  });
}

export function rootConnection<Row extends Position, Args extends InputFieldMap>(
  t: RootBuilder,
  options: ListOptions<ObjectRef<Types, ConnectionPage<Row>>, Row> & RootOptions<Args>,
) {
  const { type, list, scope, description, args, page, checksRows, onceCost } = options;
  return t.field({
    type,
    scope,
    description,
    args,
    ...(onceCost === undefined ? checkExtension(checksRows) : { extensions: { onceCost } }),
    sql: { kind: 'connection', list, page: pageOfCoerced(options) },
    complexity: listCost,
    resolve: (_root, given, context) => readConnectionPage(context, list, page(given)),
  });
}
