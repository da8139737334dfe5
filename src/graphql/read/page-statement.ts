import { type Parameter, type Statement, statement } from '../../platform/db/statement.ts';
import type { Page } from '../pagination/arguments.ts';
import { type ListEdge, selectList } from './entity.ts';

/** The column that tells which parent a row of a batch belongs to. */
export const PARENT_KEY = '$parent';

const STEPS = {
  'newest-first': { compare: '<', direction: 'DESC' },
  'oldest-first': { compare: '>', direction: 'ASC' },
} as const;

/**
 * What of a page changes the text of its statement; the rest is parameters. The size does: PostgreSQL can keep a plan
 * only where it knows how few rows are wanted. With the size as a parameter it plans anew each time, which takes as long
 * as reading the rows.
 */
export function pageShape(page: Page): string {
  return [
    `limit${page.limit}`,
    page.offset > 0 && 'offset',
    page.after && 'after',
    page.createdAfter && 'since',
    page.tag !== undefined && 'tag',
  ]
    .filter(Boolean)
    .join('_');
}

/** What a page is in SQL: values, or the columns that hold them. */
interface PageTerms {
  readonly parent?: string | undefined;
  readonly limit: string;
  readonly offset?: string | undefined;
  /** A row of `createdAt` and `id`. */
  readonly after?: string | undefined;
  readonly createdAfter?: string | undefined;
  readonly tag?: string | undefined;
}

/** The WHERE, ORDER BY and LIMIT of a page. */
function clausesOf<Row extends object>(
  edge: ListEdge<Row>,
  { parent, limit, offset, after, createdAfter, tag }: PageTerms,
): string {
  const { byTag, source: all } = edge.entity;
  const source = tag === undefined ? { ...all, keys: all.from } : byTag;
  if (source === undefined) throw new Error(`${edge.name} cannot be read by tag`);
  const { compare, direction } = STEPS[createdAfter === undefined ? edge.order : 'oldest-first'];
  const conditions: string[] = [];
  if (parent !== undefined) conditions.push(`t.${edge.parent} = ${parent}`);
  if (after !== undefined) conditions.push(`(${source.createdAt}, ${source.id}) ${compare} ${after}`);
  if (createdAfter !== undefined) conditions.push(`${source.createdAt} > ${createdAfter}`);
  if (tag !== undefined) conditions.push(`${byTag?.tag} = ${tag}`);
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  const order = `ORDER BY ${source.createdAt} ${direction}, ${source.id} ${direction}`;
  const cut = `${where} ${order} LIMIT ${limit}${offset === undefined ? '' : ` OFFSET ${offset}`}`;
  if (offset === undefined) return `FROM ${source.from}${cut}`;
  // What is passed over is counted in the index alone, and only the rows asked for are read.
  return `FROM (SELECT ${source.id} AS id, ${source.createdAt} AS at FROM ${source.keys}${cut}) AS s JOIN ${all.from} ON ${all.id} = s.id ORDER BY s.at ${direction}, s.id ${direction}`;
}

/** The same with parameters, in the order of `pageValues`, from `$first` on. */
export function pageClauses<Row extends object>(
  edge: ListEdge<Row>,
  page: Page,
  parent: string | undefined,
  first: number,
): string {
  let next = first;
  const parameter = () => `$${next++}`;
  return clausesOf(edge, {
    parent,
    limit: `${page.limit}`,
    // In a query of its own it is as unknown to a plan for one value as to a plan for all: the latter is kept.
    offset: page.offset > 0 ? `(SELECT ${parameter()}::bigint)` : undefined,
    after: page.after && `(${parameter()}::timestamptz, ${parameter()}::uuid)`,
    createdAfter: page.createdAfter && `${parameter()}::timestamptz`,
    tag: page.tag === undefined ? undefined : parameter(),
  });
}

/** The parameters of `pageClauses`, in its order. */
export function pageValues(page: Page): Parameter[] {
  const values: Parameter[] = page.offset > 0 ? [page.offset] : [];
  if (page.after !== undefined) values.push(page.after.createdAt, page.after.id);
  if (page.createdAfter !== undefined) values.push(page.createdAfter);
  if (page.tag !== undefined) values.push(page.tag);
  return values;
}

const statements = new WeakMap<object, Map<string, Statement<unknown>>>();

/** The statement of a list and a shape, built once. */
function cached<Row>(edge: ListEdge<object>, shape: string, build: () => string): Statement<Row> {
  const known = statements.get(edge) ?? new Map<string, Statement<unknown>>();
  statements.set(edge, known);
  let found = known.get(shape);
  if (found === undefined) {
    found = statement(`${edge.name}${shape === '' ? '' : `_${shape}`}`, build());
    known.set(shape, found);
  }
  return found as Statement<Row>;
}

/** One page of a list without parent. Parameters: `pageValues`. */
export function pageStatement<Row extends object>(edge: ListEdge<Row>, page: Page): Statement<Row> {
  return cached(
    edge,
    pageShape(page),
    () => `SELECT ${selectList(edge.entity)} ${pageClauses(edge, page, undefined, 1)}`,
  );
}

/**
 * The same page for many parents in one statement that reads only the rows asked for: one index scan a parent, each
 * ending at its LIMIT. Parameters: the parents' ids, then `pageValues`.
 */
export function batchStatement<Row extends object>(
  edge: ListEdge<Row>,
  page: Page,
): Statement<Row & { [PARENT_KEY]: string }> {
  return cached(edge, `batch_${pageShape(page)}`, () => {
    const { direction } = STEPS[page.createdAfter === undefined ? edge.order : 'oldest-first'];
    return `SELECT k.id AS "${PARENT_KEY}", r.* FROM unnest($1::uuid[]) WITH ORDINALITY AS k(id, n)
CROSS JOIN LATERAL (SELECT ${selectList(edge.entity)} ${pageClauses(edge, page, 'k.id', 2)}) AS r
ORDER BY k.n, r."createdAt" ${direction}, r."id" ${direction}`;
  });
}

/** The column that tells which of the pages asked for a row belongs to, counted from 1. */
export const PAGE_NUMBER = '$page';

/** Whether two pages can be read by one `pagesStatement`. */
export function pagesShape({ offset, after }: Page): string {
  return [offset > 0 && 'offset', after && 'after'].filter(Boolean).join('_');
}

/**
 * Pages of one shape and of any sizes and places, each of a parent of its own, in one statement that PostgreSQL plans
 * once. Parameters: ids of parents, sizes, offsets, and the two of the cursors, a value for each page.
 */
export function pagesStatement<Row extends object>(
  edge: ListEdge<Row>,
  page: Page,
  columns: readonly string[],
): Statement<Row & { [PAGE_NUMBER]: number }> {
  return cached(edge, `pages_${pagesShape(page)}_${columns.join('_')}`, () => {
    const { direction } = STEPS[edge.order];
    const clauses = clausesOf(edge, {
      parent: 'k.id',
      limit: 'k.size',
      offset: page.offset > 0 ? 'k.skipped' : undefined,
      after: page.after && '(k.after_at, k.after_id)',
    });
    const selected = selectList(edge.entity, columns);
    return `SELECT k.n AS "${PAGE_NUMBER}", r.*
FROM unnest($1::uuid[], $2::int[], $3::int[], $4::timestamptz[], $5::uuid[]) WITH ORDINALITY AS k(id, size, skipped, after_at, after_id, n)
CROSS JOIN LATERAL (SELECT ${selected} ${clauses}) AS r
ORDER BY k.n, r."createdAt" ${direction}, r."id" ${direction}`;
  });
}
