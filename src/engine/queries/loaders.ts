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

/** `id` must be a UUID. */
export async function readById<Row extends Identified>(
  db: Queryable,
  entity: Entity<Row>,
  id: string,
): Promise<Row | undefined> {
  const [row] = await db.query(byIds(entity), [[id]]);
  return row;
}

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

type Loading = Pick<Context, typeof contextCacheSymbol>;

const keyOf = (context: Loading): object => context[contextCacheSymbol] ?? context;

const batchesOf = new WeakMap<object, Batches>();

/**
 * Reads the loads of a context level by level from now on. Keys that are requested while a statement runs wait for
 * the next statement. An operation then takes a few statements for each level, however many fields request keys.
 */
export function enableLoaderBatches(context: Loading): void {
  const key = keyOf(context);
  if (!batchesOf.has(key)) batchesOf.set(key, new Map());
}

/** Reads the values immediately, or in a batch with all other keys of the kind. Each `kind` must have one `read`. */
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
    // Until the next iteration of the event loop, all resolvers that got values of the last batch request their keys.
    load = batchReads(read, { maxRunning: 1, maxKeys: Number.POSITIVE_INFINITY, pause: nextLoopIteration });
    batches.set(kind, load);
  }
  return Promise.all(keys.map(load));
}

/** Long strings that no field of the operation reads are left out. */
function columnsFor<Row extends object>({ entity }: ListRelation<Row>, names: ReadonlySet<string>) {
  return Object.keys(entity.columns).filter(
    (column) => isRead(column, names) || !(entity.texts ?? []).includes(column),
  );
}

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

export function readPage<Row extends object>(
  { db, plans }: Pick<Context, 'db' | 'plans'>,
  relation: ListRelation<Row>,
  page: PageRange,
): Promise<Row[]> {
  return queryWritten(db, pageStatement(relation, page, columnsFor(relation, plans.names)), page);
}

/** Takes one statement for each shape of pages. */
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

/** @returns the rows in the order of the ids; undefined for an id without a row */
export function loadByIds<Row extends { readonly id: string }>(
  context: Context,
  entity: Entity<Row>,
  ids: readonly string[],
): Promise<readonly (Row | undefined)[]> {
  return inLoaderBatch(context, entity, ids, (all) => readByIds(context.db, entity, all));
}

/** An id without a row becomes NOT_FOUND. */
export function loaderOf<Row extends { readonly id: string }>(entity: Entity<Row>, type: string) {
  return async (ids: string[], context: Context): Promise<(Row | Error)[]> => {
    const rows = await loadByIds(context, entity, ids);
    return rows.map((row, at) => row ?? notFound(type, ids[at] ?? ''));
  };
}

export function loadPages<Row extends object>(
  context: Context,
  relation: ListRelation<Row>,
  parentIds: readonly string[],
  page: PageRange,
): Promise<readonly Row[][]> {
  const keys = parentIds.map((id) => ({ id, page }));
  return inLoaderBatch(context, relation, keys, (all) => readChildPages(context, relation, all));
}

export interface ConnectionPage<Row extends Position> {
  readonly rows: readonly Row[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
}

/** One extra row shows if the list continues. */
const oneMore = (page: PageRange): PageRange => ({ ...page, limit: page.limit + 1 });

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

export async function loadConnectionPages<Row extends Position>(
  context: Context,
  relation: ListRelation<Row>,
  parentIds: readonly string[],
  page: PageRange,
): Promise<ConnectionPage<Row>[]> {
  const lists = await loadPages(context, relation, parentIds, oneMore(page));
  return lists.map((rows) => toConnectionPage(rows, page));
}
