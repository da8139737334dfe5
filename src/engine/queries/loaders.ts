import { setImmediate as nextLoopIteration } from 'node:timers/promises';
import { contextCacheSymbol } from '@pothos/core';
import { type Queryable, type Statement, statement } from '../../database/statement.ts';
import { batchReads } from '../../platform/async.ts';
import { notFound } from '../../platform/errors.ts';
import type { Context } from '../core/context.ts';
import { type Entity, isRead, type ListRelation, selectList } from './entity.ts';
import {
  PAGE_NUMBER,
  type PageOfParent,
  pageStatement,
  pagesShape,
  pagesStatement,
  queryWritten,
} from './page-statement.ts';
import { endsOf, type PageRange, type Position } from './pagination.ts';

/** A row with an id. */
export interface Identified {
  readonly id: string;
}

const byIdStatements = new WeakMap<object, Statement<unknown>>();

function byIds<Row extends object>(entity: Entity<Row>): Statement<Row> {
  let found = byIdStatements.get(entity);
  if (found === undefined) {
    found = statement(
      `${entity.name}_by_id`,
      `SELECT ${selectList(entity)} FROM ${entity.source.from} WHERE t.id = ANY($1::uuid[])`,
    );
    byIdStatements.set(entity, found);
  }
  return found as Statement<Row>;
}

/** The row with the id, or undefined. `id` is a UUID. */
export async function readById<Row extends Identified>(
  db: Queryable,
  entity: Entity<Row>,
  id: string,
): Promise<Row | undefined> {
  const [row] = await db.query(byIds(entity), [[id]]);
  return row;
}

/** The rows with the ids, in the order of the ids; undefined for an id without a row. One statement. */
async function readByIds<Row extends Identified>(
  db: Queryable,
  entity: Entity<Row>,
  ids: readonly string[],
): Promise<(Row | undefined)[]> {
  const rows = await db.query(byIds(entity), [ids]);
  const found = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => found.get(id));
}

type Batches = Map<object, (key: never) => Promise<unknown>>;

/** A context, or the key by which Pothos knows the loaders of a context. */
type Loading = Pick<Context, typeof contextCacheSymbol>;

const keyOf = (context: Loading): object => context[contextCacheSymbol] ?? context;

/** The loader batches of each context, by kind of key. */
const batchesOf = new WeakMap<object, Batches>();

/**
 * From now on, the loads of this context are read level by level. Keys that are requested while a statement runs wait for
 * it and are then read together, so that an operation takes a few statements per level, however many fields request keys.
 */
export function enableLoaderBatches(context: Loading): void {
  const key = keyOf(context);
  if (!batchesOf.has(key)) batchesOf.set(key, new Map());
}

/**
 * Reads the values of the keys, in their order: immediately, or in a batch with all other keys of the kind. A
 * `kind` always comes with the same `read`.
 */
export async function inLoaderBatch<Key, Value>(
  context: Loading,
  kind: object,
  keys: readonly Key[],
  read: (keys: readonly Key[]) => Promise<readonly Value[]>,
): Promise<readonly Value[]> {
  const batches = batchesOf.get(keyOf(context));
  if (batches === undefined) return read(keys);
  let load = batches.get(kind) as ((key: Key) => Promise<Value>) | undefined;
  if (load === undefined) {
    // By the next iteration of the event loop, all resolvers that got values of the last batch have requested their keys.
    load = batchReads(read, { maxRunning: 1, maxKeys: Number.POSITIVE_INFINITY, pause: nextLoopIteration });
    batches.set(kind, load);
  }
  return Promise.all(keys.map(load));
}

/** The columns to read for an operation with fields of these names. Long strings that none of them reads are left out. */
function columnsFor<Row extends object>({ entity }: ListRelation<Row>, names: ReadonlySet<string>) {
  return Object.keys(entity.columns).filter(
    (column) => isRead(column, names) || !(entity.texts ?? []).includes(column),
  );
}

/** Reads pages of one shape with one statement. */
async function readShape<Row extends object>(
  db: Queryable,
  relation: ListRelation<Row>,
  keys: readonly PageOfParent[],
  names: ReadonlySet<string>,
): Promise<Map<PageOfParent, Row[]>> {
  const [first] = keys;
  if (first === undefined) return new Map();
  const pages = pagesStatement(relation, first.page, columnsFor(relation, names));
  const rows = await queryWritten(db, pages, keys);
  const lists = new Map<PageOfParent, Row[]>(keys.map((key) => [key, []]));
  for (const row of rows) {
    const key = keys[row[PAGE_NUMBER] - 1];
    if (key !== undefined) lists.get(key)?.push(row);
  }
  return lists;
}

/** Reads one page of a list without a parent. */
export function readPage<Row extends object>(
  { db, plans }: Pick<Context, 'db' | 'plans'>,
  relation: ListRelation<Row>,
  page: PageRange,
): Promise<Row[]> {
  return queryWritten(db, pageStatement(relation, page, columnsFor(relation, plans.names)), page);
}

/** Reads pages, in the order of their keys, with one statement per shape. */
export async function readChildPages<Row extends object>(
  { db, plans }: Pick<Context, 'db' | 'plans'>,
  relation: ListRelation<Row>,
  keys: readonly PageOfParent[],
): Promise<Row[][]> {
  const shapes = Map.groupBy(keys, ({ page }) => pagesShape(page));
  const parts = await Promise.all(
    [...shapes.values()].map((group) => readShape(db, relation, group, plans.names)),
  );
  const lists = new Map(parts.flatMap((part) => [...part]));
  return keys.map((key) => lists.get(key) ?? []);
}

/** Loads the rows with the ids, in the order of the ids; undefined for an id without a row. */
export function loadByIds<Row extends { readonly id: string }>(
  context: Context,
  entity: Entity<Row>,
  ids: readonly string[],
): Promise<readonly (Row | undefined)[]> {
  return inLoaderBatch(context, entity, ids, (all) => readByIds(context.db, entity, all));
}

/** The `load` of an object type. An id without a row is NOT_FOUND; `type` names the object type in the message. */
export function loaderOf<Row extends { readonly id: string }>(entity: Entity<Row>, type: string) {
  return async (ids: string[], context: Context): Promise<(Row | Error)[]> => {
    const rows = await loadByIds(context, entity, ids);
    return rows.map((row, at) => row ?? notFound(type, ids[at] ?? ''));
  };
}

/** Loads the same page of a list for each parent, in the order of the parents. */
export function loadPages<Row extends object>(
  context: Context,
  relation: ListRelation<Row>,
  parentIds: readonly string[],
  page: PageRange,
): Promise<readonly Row[][]> {
  const keys = parentIds.map((id) => ({ id, page }));
  return inLoaderBatch(context, relation, keys, (all) => readChildPages(context, relation, all));
}

/** A page of a connection: its rows, and whether there are more before and after them. */
export interface ConnectionPage<Row extends Position> {
  readonly rows: readonly Row[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
}

/** One extra row tells whether the list goes on. */
const oneMore = (page: PageRange): PageRange => ({ ...page, limit: page.limit + 1 });

/** The page of the rows that were read for it, in the order of reading. */
function toConnectionPage<Row extends Position>(read: readonly Row[], page: PageRange): ConnectionPage<Row> {
  const rows = read.slice(0, page.limit);
  return {
    rows: page.backwards === true ? rows.reverse() : rows,
    ...endsOf(page, read.length > page.limit),
  };
}

export async function readConnectionPage<Row extends Position>(
  context: Context,
  relation: ListRelation<Row>,
  page: PageRange,
): Promise<ConnectionPage<Row>> {
  return toConnectionPage(await readPage(context, relation, oneMore(page)), page);
}

/** Loads one page per parent, in the order of the parents. */
export async function loadConnectionPages<Row extends Position>(
  context: Context,
  relation: ListRelation<Row>,
  parentIds: readonly string[],
  page: PageRange,
): Promise<ConnectionPage<Row>[]> {
  const lists = await loadPages(context, relation, parentIds, oneMore(page));
  return lists.map((rows) => toConnectionPage(rows, page));
}
