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

/** The WHERE, ORDER BY and LIMIT of a page. The parameters go in the order of `pageValues`, from `$first` on. */
export function pageClauses<Row extends object>(
  edge: ListEdge<Row>,
  page: Page,
  parentKey: string | undefined,
  first: number,
): string {
  let next = first;
  const parameter = () => `$${next++}`;
  const { byTag, source: all } = edge.entity;
  const source = page.tag === undefined ? { ...all, keys: all.from } : byTag;
  if (source === undefined) throw new Error(`${edge.name} cannot be read by tag`);
  const { compare, direction } = STEPS[page.createdAfter === undefined ? edge.order : 'oldest-first'];
  // In a query of its own it is as unknown to a plan for one value as to a plan for all: the latter is kept.
  const offset = page.offset > 0 ? ` OFFSET (SELECT ${parameter()}::bigint)` : '';
  const conditions: string[] = [];
  if (parentKey !== undefined) conditions.push(`t.${edge.parent} = ${parentKey}`);
  if (page.after !== undefined)
    conditions.push(
      `(${source.createdAt}, ${source.id}) ${compare} (${parameter()}::timestamptz, ${parameter()}::uuid)`,
    );
  if (page.createdAfter !== undefined) conditions.push(`${source.createdAt} > ${parameter()}::timestamptz`);
  if (page.tag !== undefined) conditions.push(`${byTag?.tag} = ${parameter()}`);
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  const order = `ORDER BY ${source.createdAt} ${direction}, ${source.id} ${direction}`;
  const cut = `${where} ${order} LIMIT ${page.limit}${offset}`;
  if (offset === '') return `FROM ${source.from}${cut}`;
  // What is passed over is counted in the index alone, and only the rows asked for are read.
  return `FROM (SELECT ${source.id} AS id, ${source.createdAt} AS at FROM ${source.keys}${cut}) AS s JOIN ${all.from} ON ${all.id} = s.id ORDER BY s.at ${direction}, s.id ${direction}`;
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
