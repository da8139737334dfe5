import type { Context } from '../context.ts';
import type { ListEdge } from '../read/entity.ts';
import { loadPages, readPage } from '../read/loads.ts';
import { endsOf, type Page } from './arguments.ts';
import type { Position } from './cursor.ts';

/** A page of a connection: its rows, and whether there are more before and after them. */
export interface Slice<Row extends Position> {
  readonly rows: readonly Row[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
}

/** One extra row tells whether the list goes on. */
const oneMore = (page: Page): Page => ({ ...page, limit: page.limit + 1 });

/** The page of the rows that were read for it, in the order of reading. */
function sliceOf<Row extends Position>(read: readonly Row[], page: Page): Slice<Row> {
  const rows = read.slice(0, page.limit);
  return {
    rows: page.backwards === true ? rows.reverse() : rows,
    ...endsOf(page, read.length > page.limit),
  };
}

export async function readSlice<Row extends Position>(
  context: Context,
  edge: ListEdge<Row>,
  page: Page,
): Promise<Slice<Row>> {
  return sliceOf(await readPage(context, edge, oneMore(page)), page);
}

/** The same for loaders: one slice per parent, in the order of the parents. */
export async function loadSlices<Row extends Position>(
  context: Context,
  edge: ListEdge<Row>,
  parentIds: readonly string[],
  page: Page,
): Promise<Slice<Row>[]> {
  const lists = await loadPages(context, edge, parentIds, oneMore(page));
  return lists.map((rows) => sliceOf(rows, page));
}
