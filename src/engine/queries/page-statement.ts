import {
  formatTimestamp,
  type Parameter,
  type Queryable,
  type Statement,
  statement,
} from '../../database/statement.ts';
import { type ListRelation, selectList } from './entity.ts';
import type { PageRange } from './pagination.ts';

/**
 * Adds a parameter with the source of its value.
 * @returns the number of the parameter, such as `$1`
 */
export type AddParameter<Given> = (source: (given: Given) => Parameter) => string;

/** `Given` contains the values of the parameters. */
export interface WrittenStatement<Row, Given> {
  readonly statement: Statement<Row>;
  readonly values: (given: Given) => Parameter[];
}

export function writeStatement<Row, Given>(
  write: (add: AddParameter<Given>) => string,
  make: (text: string) => Statement<Row>,
): WrittenStatement<Row, Given> {
  const sources: ((given: Given) => Parameter)[] = [];
  const text = write((source) => `$${sources.push(source)}`);
  return { statement: make(text), values: (given) => sources.map((source) => source(given)) };
}

/** @throws {DatabaseError} */
export const queryWritten = <Row, Given>(
  db: Queryable,
  { statement, values }: WrittenStatement<Row, Given>,
  given: Given,
): Promise<Row[]> => db.query(statement, values(given));

const STEPS = {
  'newest-first': { beyond: '<', until: '>', direction: 'DESC', backwards: 'ASC' },
  'oldest-first': { beyond: '>', until: '<', direction: 'ASC', backwards: 'DESC' },
} as const;

/** A `backwards` page is read from the end of the list. */
function directionOf({ order }: Pick<ListRelation<object>, 'order'>, page: PageRange): 'ASC' | 'DESC' {
  const steps = STEPS[page.createdAfter === undefined ? order : 'oldest-first'];
  return page.backwards === true ? steps.backwards : steps.direction;
}

export function inListOrder(
  { order }: Pick<ListRelation<object>, 'order'>,
  page: PageRange,
  rows: string,
): string {
  if (page.backwards !== true) return rows;
  const { direction } = STEPS[order];
  return `SELECT * FROM (${rows}) AS b ORDER BY b."createdAt" ${direction}, b."id" ${direction}`;
}

/**
 * Returns the part of a page that changes the SQL. The limit is in the SQL because PostgreSQL keeps a generic plan
 * only if it knows how few rows are wanted. With the limit as a parameter, PostgreSQL plans every time, which takes
 * as long as reading the rows.
 */
export function pageShape(page: PageRange): string {
  return [
    `limit${page.limit}`,
    page.offset > 0 && 'offset',
    page.after && 'after',
    page.before && 'before',
    page.backwards && 'backwards',
    page.createdAfter && 'since',
    page.filterValue !== undefined && 'filtered',
  ]
    .filter(Boolean)
    .join('_');
}

/** SQL of values, or of columns that hold values. */
interface PageTerms {
  readonly parent?: string | undefined;
  readonly limit: string;
  readonly offset?: string | undefined;
  readonly cursor?: string | undefined;
  readonly createdAfter?: string | undefined;
  readonly filterValue?: string | undefined;
}

function clausesOf<Row extends object>(
  relation: ListRelation<Row>,
  page: PageRange,
  { parent, limit, offset, cursor, createdAfter, filterValue }: PageTerms,
): string {
  const { filteredBy, source: all } = relation.entity;
  const source = filterValue === undefined ? { ...all, keys: all.from } : filteredBy;
  if (source === undefined) throw new Error(`${relation.name} cannot be filtered`);
  const { beyond, until } = STEPS[relation.order];
  const direction = directionOf(relation, page);
  const conditions: string[] = [];
  if (parent !== undefined) conditions.push(`${relation.parent} = ${parent}`);
  if (cursor !== undefined)
    conditions.push(
      `(${source.createdAt}, ${source.id}) ${page.before === undefined ? beyond : until} ${cursor}`,
    );
  if (createdAfter !== undefined) conditions.push(`${source.createdAt} > ${createdAfter}`);
  if (filterValue !== undefined) conditions.push(`${filteredBy?.value} = ${filterValue}`);
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  const order = `ORDER BY ${source.createdAt} ${direction}, ${source.id} ${direction}`;
  const cut = `${where} ${order} LIMIT ${limit}${offset === undefined ? '' : ` OFFSET ${offset}`}`;
  if (offset === undefined) return `FROM ${source.from}${cut}`;
  // PostgreSQL counts skipped rows in the index alone, and reads only the requested rows.
  return `FROM (SELECT ${source.id} AS id, ${source.createdAt} AS at FROM ${source.keys}${cut}) AS s JOIN ${all.from} ON ${all.id} = s.id ORDER BY s.at ${direction}, s.id ${direction}`;
}

const cursorOf = ({ after, before }: PageRange) => after ?? before;

/** Statements retain these functions, so the functions hold nothing else. */
const SOURCES = {
  offset: ({ offset }: PageRange) => offset,
  cursorAt: (page: PageRange) => cursorOf(page)?.createdAt ?? null,
  cursorId: (page: PageRange) => cursorOf(page)?.id ?? null,
  createdAfter: ({ createdAfter }: PageRange) => createdAfter ?? null,
  filterValue: ({ filterValue }: PageRange) => filterValue ?? null,
};

export function pageClauses<Row extends object>(
  relation: ListRelation<Row>,
  page: PageRange,
  parent: string | undefined,
  add: AddParameter<PageRange>,
): string {
  const { offset, cursorAt, cursorId, createdAfter, filterValue } = SOURCES;
  return clausesOf(relation, page, {
    parent,
    limit: `${page.limit}`,
    // In a subquery, custom and generic plans do not know the offset, so PostgreSQL keeps the generic plan.
    offset: page.offset > 0 ? `(SELECT ${add(offset)}::bigint)` : undefined,
    cursor: cursorOf(page) && `(${add(cursorAt)}::timestamptz, ${add(cursorId)}::uuid)`,
    createdAfter: page.createdAfter && `${add(createdAfter)}::timestamptz`,
    filterValue: page.filterValue === undefined ? undefined : add(filterValue),
  });
}

const statements = new WeakMap<object, Map<string, unknown>>();

function cached<Row, Given>(
  relation: ListRelation<object>,
  shape: string,
  write: (add: AddParameter<Given>) => string,
): WrittenStatement<Row, Given> {
  const known = statements.get(relation) ?? new Map<string, unknown>();
  statements.set(relation, known);
  let found = known.get(shape);
  if (found === undefined) {
    const label = `${relation.name}${shape === '' ? '' : `_${shape}`}`;
    found = writeStatement<Row, Given>(write, (text) => statement(label, text));
    known.set(shape, found);
  }
  return found as WrittenStatement<Row, Given>;
}

export const pageStatement = <Row extends object>(
  relation: ListRelation<Row>,
  page: PageRange,
  columns: readonly string[],
) =>
  cached<Row, PageRange>(
    relation,
    `${pageShape(page)}_${columns.join('_')}`,
    (add) => `SELECT ${selectList(relation.entity, columns)} ${pageClauses(relation, page, undefined, add)}`,
  );

/** The column with the number of a row's page, counted from 1. */
export const PAGE_NUMBER = '$page';

export function pagesShape({ offset, after, before, backwards }: PageRange): string {
  return [offset > 0 && 'offset', after && 'after', before && 'before', backwards && 'backwards']
    .filter(Boolean)
    .join('_');
}

export interface PageOfParent {
  readonly id: string;
  readonly page: PageRange;
}

/** Each page has a separate parent, limit and position. PostgreSQL plans the statement once. */
export function pagesStatement<Row extends object>(
  relation: ListRelation<Row>,
  page: PageRange,
  columns: readonly string[],
) {
  const shape = `pages_${pagesShape(page)}_${columns.join('_')}`;
  const cursors = (pages: readonly PageOfParent[]) => pages.flatMap((one) => cursorOf(one.page) ?? []);
  return cached<Row & { [PAGE_NUMBER]: number }, readonly PageOfParent[]>(relation, shape, (add) => {
    const direction = directionOf(relation, page);
    const clauses = clausesOf(relation, page, {
      parent: 'k.id',
      limit: 'k.size',
      offset: page.offset > 0 ? 'k.skipped' : undefined,
      cursor: cursorOf(page) && '(k.cursor_at, k.cursor_id)',
    });
    const selected = selectList(relation.entity, columns);
    const ids = add((pages) => pages.map(({ id }) => id));
    const sizes = add((pages) => pages.map((one) => one.page.limit));
    const skipped = add((pages) => pages.map((one) => one.page.offset));
    const timestamps = add((pages) => cursors(pages).map(({ createdAt }) => formatTimestamp(createdAt)));
    const cursorIds = add((pages) => cursors(pages).map(({ id }) => id));
    return `SELECT k.n AS "${PAGE_NUMBER}", r.*
FROM unnest(${ids}::uuid[], ${sizes}::int[], ${skipped}::int[], ${timestamps}::timestamptz[], ${cursorIds}::uuid[]) WITH ORDINALITY AS k(id, size, skipped, cursor_at, cursor_id, n)
CROSS JOIN LATERAL (SELECT ${selected} ${clauses}) AS r
ORDER BY k.n, r."createdAt" ${direction}, r."id" ${direction}`;
  });
}
