import {
  formatTimestamp,
  type Parameter,
  type Queryable,
  type Statement,
  statement,
} from '../../database/statement.ts';
import { getOrCreate } from '../../platform/cache.ts';
import { type ListRelation, ORDERS, selectList } from './entity.ts';
import {
  MAX_COUNT,
  MAX_COUNTED_ROWS,
  type PageFilter,
  type PageRange,
  propertyOf,
  rowsToCheck,
} from './pagination.ts';

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

/** A comparison of a timestamp with a member of a filter. */
const RANGES = [
  { name: 'createdAfter', property: 'createdAt', operator: '>' },
  { name: 'createdBefore', property: 'createdAt', operator: '<' },
  { name: 'updatedAfter', property: 'updatedAt', operator: '>' },
] as const;

type RangeName = (typeof RANGES)[number]['name'];

type ListOf = Pick<ListRelation<object>, 'parent' | 'order' | 'rows'>;

/** Tells which conditions of a filter the index of the order has. All other conditions are checked row by row. */
function splitFilter({ parent }: Pick<ListOf, 'parent'>, { order, filter = {} }: PageRange) {
  const property = propertyOf(order);
  const values = filter.values?.length ?? 0;
  const byValue =
    values > 0 && property === 'createdAt' && parent === undefined && filter.equal === undefined;
  const ranges = RANGES.filter(({ name }) => filter[name] !== undefined);
  const checkedRanges = ranges.filter((range) => range.property !== property);
  const checkedValues = byValue ? values - 1 : values;
  return {
    byValue,
    ranges: ranges.filter((range) => range.property === property),
    checkedRanges,
    checkedValues,
    checks: checkedRanges.length > 0 || checkedValues > 0,
  };
}

/** True if rows of a page are checked one by one, so that the page may end before it is full. */
export const checksRows = (relation: Pick<ListOf, 'parent' | 'rows'>, page: PageRange): boolean =>
  relation.rows !== undefined || splitFilter(relation, page).checks;

/** The column of a checked page that is true if the row fulfils the filter. */
export const MATCHES = '$matches';
/** The column of a checked page that is true for the last row that the page may read. */
export const IS_LAST = '$last';

/** A `backwards` page is read from the end of the list. */
function directionOf({ order }: Pick<ListOf, 'order'>, page: PageRange): 'ASC' | 'DESC' {
  const { isDescending } = ORDERS[page.order ?? order];
  return isDescending === (page.backwards !== true) ? 'DESC' : 'ASC';
}

export function inListOrder(relation: Pick<ListOf, 'order'>, page: PageRange, rows: string): string {
  if (page.backwards !== true) return rows;
  const direction = directionOf(relation, { ...page, backwards: false });
  return `SELECT * FROM (${rows}) AS b ORDER BY b."${propertyOf(page.order)}" ${direction}, b."id" ${direction}`;
}

function filterShape({ equal, values = [], ...ranges }: PageFilter): string {
  const names = RANGES.filter(({ name }) => ranges[name] !== undefined).map(({ name }) => name);
  return [equal && `equal_${equal.property}`, values.length > 0 && `values${values.length}`, ...names]
    .filter(Boolean)
    .join('_');
}

/**
 * Returns the part of a page that changes the SQL. The limit is in the SQL because PostgreSQL keeps a generic plan
 * only if it knows how few rows are wanted. With the limit as a parameter, PostgreSQL plans every time, which takes
 * as long as reading the rows.
 */
export const pageShape = (page: PageRange): string => `limit${page.limit}_${pagesShape(page)}`;

/** SQL of values, or of columns that hold values. */
interface FilterTerms {
  readonly equal?: string;
  /** The value that the index has. */
  readonly value?: string;
  /** An array of values that are checked row by row. */
  readonly checkedValues?: string;
  readonly ranges: Partial<Record<RangeName, string>>;
}

interface PageTerms {
  readonly parent?: string | undefined;
  readonly limit: string;
  readonly offset?: string | undefined;
  readonly cursor?: string | undefined;
  readonly filter: FilterTerms;
}

/** Finds the rows of a list by one index, with the conditions that the index has and those that it lacks. */
function accessOf<Row extends object>(
  relation: ListRelation<Row>,
  page: PageRange,
  { parent, filter }: Pick<PageTerms, 'parent' | 'filter'>,
) {
  const { entity } = relation;
  const columns: Readonly<Record<string, string | undefined>> = entity.columns;
  const { byValue, ranges, checkedRanges, checkedValues } = splitFilter(relation, page);
  const { filteredBy, source: all } = entity;
  if ((byValue || checkedValues > 0) && filteredBy === undefined)
    throw new Error(`${relation.name} cannot be filtered`);
  const source =
    byValue && filteredBy !== undefined
      ? { ...filteredBy, at: filteredBy.createdAt }
      : { ...all, keys: all.from, at: columns[propertyOf(page.order)] ?? all.createdAt };
  const conditions: string[] = [];
  if (parent !== undefined) conditions.push(`${relation.parent} = ${parent}`);
  if (filter.equal !== undefined)
    conditions.push(`${columns[page.filter?.equal?.property ?? '']} = ${filter.equal}`);
  if (byValue) conditions.push(`${filteredBy?.value} = ${filter.value}`);
  for (const { name, operator } of ranges) conditions.push(`${source.at} ${operator} ${filter.ranges[name]}`);
  const checked = checkedRanges.map(
    ({ name, property, operator }) => `${columns[property]} ${operator} ${filter.ranges[name]}`,
  );
  if (checkedValues > 0)
    checked.push(`${filteredBy?.countOf(source.id, `${filter.checkedValues}`)} = ${checkedValues}`);
  return { source, conditions, check: checked.length === 0 ? undefined : checked.join(' AND ') };
}

const whereSql = (conditions: readonly string[]) =>
  conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;

/**
 * Returns a SELECT of the columns. A page whose rows are checked one by one reads at most `rowsToCheck` rows. That limit is
 * in the SQL, so that PostgreSQL reads the rows in the order of the index. For a connection, `MATCHES` and `IS_LAST` tell
 * the rows of the page from the last row read.
 */
function pageSelect<Row extends object>(
  relation: ListRelation<Row>,
  page: PageRange,
  terms: PageTerms,
  columns: readonly string[],
  isConnection: boolean,
): string {
  const { source, conditions, check } = accessOf(relation, page, terms);
  const { limit, offset, cursor } = terms;
  const { isDescending } = ORDERS[page.order ?? relation.order];
  const direction = directionOf(relation, page);
  const selected = selectList(relation.entity, columns);
  const beyond = isDescending === (page.before === undefined) ? '<' : '>';
  const within =
    cursor === undefined ? conditions : [...conditions, `(${source.at}, ${source.id}) ${beyond} ${cursor}`];
  const order = `${whereSql(within)} ORDER BY ${source.at} ${direction}, ${source.id} ${direction}`;
  const skipped = offset === undefined ? '' : ` OFFSET ${offset}`;
  if (check !== undefined) {
    const most = rowsToCheck(page.limit, page.offset);
    const read = `SELECT ${selected}, ${check} AS "${MATCHES}" FROM ${source.from}${order} LIMIT ${most}`;
    const names = columns.map((name) => `s."${name}"`).join(', ');
    if (!isConnection)
      return `SELECT ${names} FROM (${read}) AS s WHERE s."${MATCHES}" LIMIT ${limit}${skipped}`;
    const numbered = `SELECT n.*, row_number() OVER () = ${most} AS "${IS_LAST}" FROM (${read}) AS n`;
    return `SELECT ${names}, s."${MATCHES}", s."${IS_LAST}" FROM (${numbered}) AS s WHERE s."${MATCHES}" OR s."${IS_LAST}" LIMIT ${limit}`;
  }
  if (offset === undefined) return `SELECT ${selected} FROM ${source.from}${order} LIMIT ${limit}`;
  const { from, id } = relation.entity.source;
  // PostgreSQL counts skipped rows in the index alone, and reads only the requested rows.
  return `SELECT ${selected} FROM (SELECT ${source.id} AS id, ${source.at} AS at FROM ${source.keys}${order} LIMIT ${limit}${skipped}) AS s JOIN ${from} ON ${id} = s.id ORDER BY s.at ${direction}, s.id ${direction}`;
}

const cursorOf = ({ after, before }: PageRange) => after ?? before;

/** Statements retain these functions, so the functions hold nothing else. */
const SOURCES = {
  offset: ({ offset }: PageRange) => offset,
  cursorAt: (page: PageRange) => cursorOf(page)?.at ?? null,
  cursorId: (page: PageRange) => cursorOf(page)?.id ?? null,
  equal: ({ filter }: PageRange) => filter?.equal?.id ?? null,
  value: ({ filter }: PageRange) => filter?.values?.[0] ?? null,
  values: ({ filter }: PageRange) => filter?.values ?? null,
  otherValues: ({ filter }: PageRange) => filter?.values?.slice(1) ?? null,
  createdAfter: ({ filter }: PageRange) => filter?.createdAfter ?? null,
  createdBefore: ({ filter }: PageRange) => filter?.createdBefore ?? null,
  updatedAfter: ({ filter }: PageRange) => filter?.updatedAfter ?? null,
};

/** Adds a parameter for each part of the filter. */
function filterTerms(
  relation: Pick<ListOf, 'parent'>,
  page: PageRange,
  add: AddParameter<PageRange>,
): FilterTerms {
  const { filter = {} } = page;
  const { byValue, checkedValues } = splitFilter(relation, page);
  const ranges = RANGES.filter(({ name }) => filter[name] !== undefined).map(({ name }) => [
    name,
    `${add(SOURCES[name])}::timestamptz`,
  ]);
  return {
    ...(filter.equal === undefined ? {} : { equal: `${add(SOURCES.equal)}::uuid` }),
    ...(byValue ? { value: add(SOURCES.value) } : {}),
    ...(checkedValues === 0
      ? {}
      : { checkedValues: `${add(byValue ? SOURCES.otherValues : SOURCES.values)}::text[]` }),
    ranges: Object.fromEntries(ranges),
  };
}

export function pageRows<Row extends object>(
  relation: ListRelation<Row>,
  page: PageRange,
  parent: string | undefined,
  columns: readonly string[],
  isConnection: boolean,
  add: AddParameter<PageRange>,
): string {
  if (relation.rows !== undefined) return relation.rows(page, columns, add);
  const { offset, cursorAt, cursorId } = SOURCES;
  const terms: PageTerms = {
    parent,
    limit: `${page.limit}`,
    // In a subquery, custom and generic plans do not know the offset, so PostgreSQL keeps the generic plan.
    offset: page.offset > 0 ? `(SELECT ${add(offset)}::bigint)` : undefined,
    cursor: cursorOf(page) && `(${add(cursorAt)}::timestamptz, ${add(cursorId)}::uuid)`,
    filter: filterTerms(relation, page, add),
  };
  return pageSelect(relation, page, terms, columns, isConnection);
}

const statements = new WeakMap<object, Map<string, unknown>>();

function cached<Row, Given>(
  relation: ListRelation<object>,
  shape: string,
  write: (add: AddParameter<Given>) => string,
): WrittenStatement<Row, Given> {
  const known = getOrCreate(statements, relation, () => new Map());
  const make = (text: string) => statement<Row>(`${relation.name}_${shape}`, text);
  return getOrCreate(known, shape, () => writeStatement(write, make)) as WrittenStatement<Row, Given>;
}

export const pageStatement = <Row extends object>(
  relation: ListRelation<Row>,
  page: PageRange,
  columns: readonly string[],
  isConnection: boolean,
) =>
  cached<Row, PageRange>(relation, `${pageShape(page)}_${isConnection}_${columns.join('_')}`, (add) =>
    pageRows(relation, page, undefined, columns, isConnection, add),
  );

/** The column with the number of a row's page, counted from 1. */
export const PAGE_NUMBER = '$page';

export function pagesShape({ limit, offset, after, before, backwards, order, filter }: PageRange): string {
  return [
    // The SQL of a page with a filter may have these numbers.
    filter && `read${rowsToCheck(limit, offset)}`,
    offset > 0 && 'offset',
    after && 'after',
    before && 'before',
    backwards && 'backwards',
    order,
    filter && filterShape(filter),
  ]
    .filter(Boolean)
    .join('_');
}

export interface PageOfParent {
  readonly id: string;
  readonly page: PageRange;
}

/** Adds parameters that are the same for all pages. */
const ofFirst =
  (add: AddParameter<readonly PageOfParent[]>): AddParameter<PageRange> =>
  (source) =>
    add(([first]) => (first ? source(first.page) : null));

/** Each page has a separate parent, limit and position. All have one filter. PostgreSQL plans the statement once. */
export function pagesStatement<Row extends object>(
  relation: ListRelation<Row>,
  page: PageRange,
  columns: readonly string[],
  isConnection: boolean,
) {
  const shape = `pages_${pagesShape(page)}_${isConnection}_${columns.join('_')}`;
  const cursors = (pages: readonly PageOfParent[]) => pages.flatMap((one) => cursorOf(one.page) ?? []);
  return cached<Row & { [PAGE_NUMBER]: number }, readonly PageOfParent[]>(relation, shape, (add) => {
    const direction = directionOf(relation, page);
    const ids = add((pages) => pages.map(({ id }) => id));
    const sizes = add((pages) => pages.map((one) => one.page.limit));
    const skipped = add((pages) => pages.map((one) => one.page.offset));
    const timestamps = add((pages) => cursors(pages).map(({ at }) => formatTimestamp(at)));
    const cursorIds = add((pages) => cursors(pages).map(({ id }) => id));
    const terms: PageTerms = {
      parent: 'k.id',
      limit: 'k.size',
      offset: page.offset > 0 ? 'k.skipped' : undefined,
      cursor: cursorOf(page) && '(k.cursor_at, k.cursor_id)',
      filter: filterTerms(relation, page, ofFirst(add)),
    };
    return `SELECT k.n AS "${PAGE_NUMBER}", r.*
FROM unnest(${ids}::uuid[], ${sizes}::int[], ${skipped}::int[], ${timestamps}::timestamptz[], ${cursorIds}::uuid[]) WITH ORDINALITY AS k(id, size, skipped, cursor_at, cursor_id, n)
CROSS JOIN LATERAL (${pageSelect(relation, page, terms, columns, isConnection)}) AS r
ORDER BY k.n, r."${propertyOf(page.order)}" ${direction}, r."id" ${direction}`;
  });
}

/** Returns SQL of the number of rows in a list, at most `MAX_COUNT`. NULL for a list that is too long to be checked. */
function countSelect<Row extends object>(
  relation: ListRelation<Row>,
  page: PageRange,
  terms: Pick<PageTerms, 'parent' | 'filter'>,
): string {
  const { source, conditions, check } = accessOf(relation, page, terms);
  // The order leads PostgreSQL to the index. Without an order, PostgreSQL might read the whole table.
  const rows = `${whereSql(conditions)} ORDER BY ${source.at}, ${source.id} LIMIT`;
  if (check === undefined)
    return `(SELECT count(*)::int FROM (SELECT FROM ${source.keys}${rows} ${MAX_COUNT}) AS c)`;
  return `(SELECT CASE WHEN count(*) <= ${MAX_COUNTED_ROWS} THEN (count(*) FILTER (WHERE c.matches))::int END
    FROM (SELECT ${check} AS matches FROM ${source.from}${rows} ${MAX_COUNTED_ROWS + 1}) AS c)`;
}

/** The order does not matter for a count, so the index is chosen by the filter. */
function countedPage(relation: Pick<ListOf, 'parent'>, { filter }: PageRange): PageRange {
  const page: PageRange = { limit: 0, offset: 0, filter };
  const byUpdate: PageRange = { ...page, order: 'recently-updated' };
  return checksRows(relation, page) && !checksRows(relation, byUpdate) ? byUpdate : page;
}

export function countRows<Row extends object>(
  relation: ListRelation<Row>,
  page: PageRange,
  parent: string | undefined,
  add: AddParameter<PageRange>,
): string {
  const counted = countedPage(relation, page);
  return countSelect(relation, counted, { parent, filter: filterTerms(relation, counted, add) });
}

/** Counts the lists of parents, or with null the whole list. All have one filter. */
export function countStatement<Row extends object>(relation: ListRelation<Row>, page: PageRange) {
  const counted = countedPage(relation, page);
  return cached<{ readonly count: number | null }, readonly PageOfParent[]>(
    relation,
    `count_${filterShape(counted.filter ?? {})}`,
    (add) => {
      const ids = add((pages) => pages.map(({ id }) => id));
      const parent = relation.parent === undefined ? undefined : 'k.id';
      const count = countRows(relation, page, parent, ofFirst(add));
      return `SELECT ${count} AS count FROM unnest(${ids}::uuid[]) WITH ORDINALITY AS k(id, n) ORDER BY k.n`;
    },
  );
}
