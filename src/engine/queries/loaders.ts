import { setImmediate as nextLoopIteration } from 'node:timers/promises';
import { contextCacheSymbol } from '@pothos/core';
import { type Queryable, type Statement, statement } from '../../database/statement.ts';
import { batchReads } from '../../platform/async.ts';
import { getOrCreate } from '../../platform/cache.ts';
import { badInput, notFound } from '../../platform/errors.ts';
import { type Context, principalOf } from '../core/context.ts';
import { type Entity, isRead, type ListOrder, type ListRelation, selectList } from './entity.ts';
import {
  countStatement,
  IS_LAST,
  MATCHES,
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
  const sql = () => `SELECT ${selectList(entity)} FROM ${entity.source.from} WHERE t.id = ANY($1::uuid[])`;
  const found = getOrCreate(byIdStatements, entity, () => statement(`${entity.name}_by_id`, sql()));
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

type ReadRow<Row> = Row & { readonly [MATCHES]?: boolean; readonly [IS_LAST]?: boolean };

interface PageRead extends PageOfParent {
  readonly isConnection: boolean;
}

async function readShape<Row extends object>(
  db: Queryable,
  relation: ListRelation<Row>,
  reads: readonly PageRead[],
  names: ReadonlySet<string>,
): Promise<[PageRead, ReadRow<Row>[]][]> {
  const [first] = reads;
  if (first === undefined) return [];
  const pages = pagesStatement(relation, first.page, columnsFor(relation, names), first.isConnection);
  const rows = Map.groupBy(await queryWritten(db, pages, reads), (row) => row[PAGE_NUMBER]);
  return reads.map((read, index) => [read, rows.get(index + 1) ?? []]);
}

export function readPage<Row extends object>(
  { db, plans }: Pick<Context, 'db' | 'plans'>,
  relation: ListRelation<Row>,
  page: PageRange,
  isConnection = false,
): Promise<ReadRow<Row>[]> {
  const columns = columnsFor(relation, plans.names);
  return queryWritten(db, pageStatement<ReadRow<Row>>(relation, page, columns, isConnection), page);
}

/** Takes one statement for each shape of pages, and for each filter. */
async function readChildPages<Row extends object>(
  { db, plans }: Pick<Context, 'db' | 'plans'>,
  relation: ListRelation<Row>,
  reads: readonly PageRead[],
): Promise<ReadRow<Row>[][]> {
  const shapes = Map.groupBy(
    reads,
    ({ page, isConnection }) => `${isConnection} ${pagesShape(page)} ${JSON.stringify(page.filter)}`,
  );
  const parts = await Promise.all(
    [...shapes.values()].map((group) => readShape(db, relation, group, plans.names)),
  );
  const lists = new Map(parts.flat());
  return reads.map((read) => lists.get(read) ?? []);
}

/** @returns the rows in the order of the ids; undefined for an id without a row */
export function loadByIds<Row extends { readonly id: string }>(
  context: Context,
  entity: Entity<Row>,
  ids: readonly string[],
): Promise<readonly (Row | undefined)[]> {
  return inLoaderBatch(context, entity, ids, (all) => readByIds(context.db, entity, all));
}

const ownByIdStatements = new WeakMap<object, Statement<unknown>>();

function ownByIds<Row extends object>(entity: Entity<Row>, owner: string): Statement<Row> {
  const columns: Readonly<Record<string, string>> = entity.columns;
  const sql = () => `${byIds(entity).text} AND ${columns[owner]} = $2`;
  const found = getOrCreate(ownByIdStatements, entity, () => statement(`${entity.name}_own_by_id`, sql()));
  return found as Statement<Row>;
}

/** @returns the rows of the caller; undefined for other ids, because reading other rows would reveal their sizes */
export function loadOwnByIds<Row extends Identified>(
  context: Context,
  entity: Entity<Row>,
  owner: string,
  ids: readonly string[],
): Promise<readonly (Row | undefined)[]> {
  const own = ownByIds(entity, owner);
  const { userId } = principalOf(context);
  return inLoaderBatch(context, own, ids, async (all) => {
    const rows = new Map((await context.db.query(own, [all, userId])).map((row) => [row.id, row]));
    return all.map((id) => rows.get(id));
  });
}

/** An id without a row becomes NOT_FOUND. */
export function loaderOf<Row extends { readonly id: string }>(entity: Entity<Row>, type: string) {
  return async (ids: string[], context: Context): Promise<(Row | Error)[]> => {
    const rows = await loadByIds(context, entity, ids);
    return rows.map((row, at) => row ?? notFound(type, ids[at] ?? ''));
  };
}

function loadRows<Row extends object>(
  context: Context,
  relation: ListRelation<Row>,
  parentIds: readonly string[],
  page: PageRange,
  isConnection: boolean,
): Promise<readonly ReadRow<Row>[][]> {
  const reads = parentIds.map((id) => ({ id, page, isConnection }));
  return inLoaderBatch(context, relation, reads, (all) => readChildPages(context, relation, all));
}

export const loadPages = <Row extends object>(
  context: Context,
  relation: ListRelation<Row>,
  parentIds: readonly string[],
  page: PageRange,
): Promise<readonly Row[][]> => loadRows(context, relation, parentIds, page, false);

export interface ConnectionPage<Row extends Position> {
  readonly rows: readonly Row[];
  readonly order: ListOrder | undefined;
  /** The first and the last position that were read. A filter may have dropped their rows. */
  readonly start: Position | undefined;
  readonly end: Position | undefined;
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  /**
   * Counts the rows of the list.
   * @throws {ApiError} BAD_USER_INPUT if the list is too long to be counted with its filter
   */
  readonly count: (context: Context) => Promise<number>;
}

/** One extra row shows if the list continues. */
const oneMore = (page: PageRange): PageRange => ({ ...page, limit: page.limit + 1 });

function toConnectionPage<Row extends Position>(
  read: readonly ReadRow<Row>[],
  page: PageRange,
  count: ConnectionPage<Row>['count'],
): ConnectionPage<Row> {
  const shown = read.slice(0, page.limit);
  if (page.backwards === true) shown.reverse();
  const isStopped = read.some((row) => row[IS_LAST] === true);
  return {
    rows: shown.filter((row) => row[MATCHES] !== false),
    order: page.order,
    start: shown[0],
    end: shown.at(-1),
    ...endsOf(page, isStopped || read.length > page.limit),
    count,
  };
}

/** The objects stand for the counts of a list, as the list does for its pages. */
const countsOf = new WeakMap<object, object>();

async function countLists(
  { db }: Pick<Context, 'db'>,
  relation: ListRelation<object>,
  keys: readonly PageOfParent[],
): Promise<(number | null)[]> {
  const counts = new Map<PageOfParent, number | null>();
  for (const group of Map.groupBy(keys, ({ page }) => JSON.stringify(page.filter)).values()) {
    const [first] = group;
    if (first === undefined) continue;
    const rows = await queryWritten(db, countStatement(relation, first.page), group);
    for (const [index, key] of group.entries()) counts.set(key, rows[index]?.count ?? null);
  }
  return keys.map((key) => counts.get(key) ?? null);
}

const NO_PARENT = '00000000-0000-0000-0000-000000000000';

const counter =
  (relation: ListRelation<object>, page: PageRange, id = NO_PARENT) =>
  async (context: Context): Promise<number> => {
    const [count] = await inLoaderBatch(
      context,
      getOrCreate(countsOf, relation, () => ({})),
      [{ id, page }],
      (keys) => countLists(context, relation, keys),
    );
    if (count == null)
      throw badInput(
        'filter',
        `leaves too many items to check, so "totalCount" cannot count them. Leave out "totalCount", or a part of the filter.`,
      );
    return count;
  };

export async function readConnectionPage<Row extends Position>(
  context: Context,
  relation: ListRelation<Row>,
  page: PageRange,
): Promise<ConnectionPage<Row>> {
  const rows = await readPage(context, relation, oneMore(page), true);
  return toConnectionPage(rows, page, counter(relation, page));
}

export async function loadConnectionPages<Row extends Position>(
  context: Context,
  relation: ListRelation<Row>,
  parentIds: readonly string[],
  page: PageRange,
): Promise<ConnectionPage<Row>[]> {
  const lists = await loadRows(context, relation, parentIds, oneMore(page), true);
  return lists.map((rows, index) => toConnectionPage(rows, page, counter(relation, page, parentIds[index])));
}
