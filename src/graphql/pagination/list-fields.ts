import type { InputFieldMap, InputShapeFromFields, ObjectRef } from '@pothos/core';
import type { Scope } from '../../auth/scopes.ts';
import type { Types } from '../builder.ts';
import type { ListEdge } from '../read/entity.ts';
import { loadPages, readPage } from '../read/loads.ts';
import { connectionPage, listPage, type Page } from './arguments.ts';
import type { Position } from './cursor.ts';
import { connectionArguments, limitArgument, listCost, offsetArgument } from './fields.ts';
import { loadSlices, readSlice, type Slice } from './slice.ts';

type ChildBuilder<Parent> = PothosSchemaTypes.ObjectFieldBuilder<Types, Parent>;
type RootBuilder = PothosSchemaTypes.QueryFieldBuilder<Types, Types['Root']>;

interface ListOptions<Type, Row extends object> {
  readonly type: Type;
  readonly list: ListEdge<Row>;
  readonly scope: Scope;
  readonly description: string;
}

/** A list of the parent's rows, paged by `limit` and, unless `offset` is false, by `offset`. */
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
    edge: { kind: 'many', list, page: listPage },
    byPath: true,
    complexity: listCost,
    args: { limit: limitArgument(t.arg), ...(offset ? { offset: offsetArgument(t.arg) } : {}) },
    resolve: (parent) => parent.id,
    load: async (ids: string[], context, args) => loadPages(context, list, ids, listPage(args)),
  });
}

/** The same as a connection. */
export function childConnection<Parent extends { readonly id: string }, Row extends Position>(
  t: ChildBuilder<Parent>,
  { list, ...options }: ListOptions<ObjectRef<Types, Slice<Row>>, Row>,
) {
  return t.loadable({
    ...options,
    edge: { kind: 'connection', list, page: connectionPage },
    byPath: true,
    complexity: listCost,
    args: connectionArguments(t.arg),
    resolve: (parent) => parent.id,
    load: async (ids: string[], context, args) => loadSlices(context, list, ids, connectionPage(args)),
  });
}

interface RootOptions<Args extends InputFieldMap> {
  readonly args: Args;
  /** The page for the arguments. Throws BAD_USER_INPUT. */
  readonly page: (args: InputShapeFromFields<Args>) => Page;
}

/** Look-ahead gets untyped arguments from graphql-js, which coerces them to the same types. */
const pageOfCoerced =
  <Args extends InputFieldMap>({ page }: RootOptions<Args>) =>
  (args: Record<string, unknown>): Page =>
    page(args as InputShapeFromFields<Args>);

/** A root field that lists all rows of an entity. */
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
    edge: { kind: 'many', list, page: pageOfCoerced(options) },
    complexity: listCost,
    resolve: (_root, given, context) => readPage(context, list, page(given)),
  });
}

/** The same as a connection. */
export function rootConnection<Row extends Position, Args extends InputFieldMap>(
  t: RootBuilder,
  options: ListOptions<ObjectRef<Types, Slice<Row>>, Row> & RootOptions<Args>,
) {
  const { type, list, scope, description, args, page } = options;
  return t.field({
    type,
    scope,
    description,
    args,
    edge: { kind: 'connection', list, page: pageOfCoerced(options) },
    complexity: listCost,
    resolve: (_root, given, context) => readSlice(context, list, page(given)),
  });
}
