import type { Queryable } from '../../platform/db/statement.ts';
import type { Context } from '../context.ts';
import type { ListEdge } from '../read/entity.ts';
import { loadPages } from '../read/loads.ts';
import { readPage } from '../read/read.ts';
import type { Page } from './arguments.ts';
import type { Position } from './cursor.ts';

/** A page of a connection: its rows, and whether there are more before and after them. */
export interface Slice<Row extends Position> {
  readonly rows: readonly Row[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
}

/** One extra row tells whether there is a next page. */
const oneMore = (page: Page): Page => ({ ...page, limit: page.limit + 1 });

function slice<Row extends Position>(rows: readonly Row[], page: Page): Slice<Row> {
  return {
    rows: rows.slice(0, page.limit),
    hasNextPage: rows.length > page.limit,
    hasPreviousPage: page.after !== undefined,
  };
}

export async function readSlice<Row extends Position>(
  db: Queryable,
  edge: ListEdge<Row>,
  page: Page,
): Promise<Slice<Row>> {
  return slice(await readPage(db, edge, oneMore(page)), page);
}

/** The same for loaders: one slice per parent, in the order of the parents. */
export async function loadSlices<Row extends Position>(
  context: Context,
  edge: ListEdge<Row>,
  parentIds: readonly string[],
  page: Page,
): Promise<Slice<Row>[]> {
  const lists = await loadPages(context, edge, parentIds, oneMore(page));
  return lists.map((rows) => slice(rows, page));
}
