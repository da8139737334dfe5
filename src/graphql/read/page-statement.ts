import { type Parameter, type Statement, statement } from '../../platform/db/statement.ts';
import type { Page } from '../pagination/arguments.ts';
import { type ListEdge, selectList } from './entity.ts';

/** The column with the id of a row's parent, in a batch. */
export const PARENT_KEY = '$parent';

const STEPS = {
  'newest-first': { compare: '<', direction: 'DESC' },
  'oldest-first': { compare: '>', direction: 'ASC' },
} as const;

/**
 * The part of a page that changes the text of its statement; the rest is parameters. The limit is in the text
 * because PostgreSQL keeps a plan only if it knows how few rows are wanted. With the limit as a parameter it
 * plans every time, which takes as long as reading the rows.
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

/** A page in SQL terms: values, or columns that hold them. */
interface PageTerms {
  readonly parent?: string | undefined;
  readonly limit: string;
  readonly offset?: string | undefined;
  /** A row value of `createdAt` and `id`. */
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
  // Skipped rows are counted in the index alone; only the requested rows are read.
  return `FROM (SELECT ${source.id} AS id, ${source.createdAt} AS at FROM ${source.keys}${cut}) AS s JOIN ${all.from} ON ${all.id} = s.id ORDER BY s.at ${direction}, s.id ${direction}`;
}

/** The same with parameters, in the order of `pageValues`, starting at `$first`. */
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
    // In a subquery, the offset is unknown to custom and generic plans alike, so PostgreSQL keeps the generic
    // one.
    offset: page.offset > 0 ? `(SELECT ${parameter()}::bigint)` : undefined,
    after: page.after && `(${parameter()}::timestamptz, ${parameter()}::uuid)`,
    createdAfter: page.createdAfter && `${parameter()}::timestamptz`,
    tag: page.tag === undefined ? undefined : parameter(),
  });
}

/** The parameters of `pageClauses`, in order. */
export function pageValues(page: Page): Parameter[] {
  const values: Parameter[] = page.offset > 0 ? [page.offset] : [];
  if (page.after !== undefined) values.push(page.after.createdAt, page.after.id);
  if (page.createdAfter !== undefined) values.push(page.createdAfter);
  if (page.tag !== undefined) values.push(page.tag);
  return values;
}

const statements = new WeakMap<object, Map<string, Statement<unknown>>>();

/** The statement for a list and a shape, built once. */
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

/** One page of a list without a parent. Parameters: `pageValues`. */
export function pageStatement<Row extends object>(edge: ListEdge<Row>, page: Page): Statement<Row> {
  return cached(
    edge,
    pageShape(page),
    () => `SELECT ${selectList(edge.entity)} ${pageClauses(edge, page, undefined, 1)}`,
  );
}

/**
 * The same page for many parents. The statement reads only the requested rows: one index scan per parent,
 * each ending at its LIMIT. Parameters: the parents' ids, then `pageValues`.
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

/** The column with the number of a row's page, counted from 1. */
export const PAGE_NUMBER = '$page';

/** The shape of a page. One `pagesStatement` reads pages of the same shape. */
export function pagesShape({ offset, after }: Page): string {
  return [offset > 0 && 'offset', after && 'after'].filter(Boolean).join('_');
}

/**
 * Pages of one shape, each with its own parent, limit and position, in one statement that PostgreSQL plans
 * once. Parameters, one value per page: parent ids, limits, offsets, and `createdAt` and `id` of the cursors.
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
