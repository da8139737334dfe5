import type { Queryable } from '../../platform/db/statement.ts';
import { isRead } from './column.ts';
import type { ListEdge } from './entity.ts';
import { PAGE_NUMBER, type PageOfParent, pagesShape, pagesStatement } from './page-statement.ts';
import { queryWritten } from './written-statement.ts';

/** A page of one parent. */
export interface PageKey extends PageOfParent {
  /** The names of all fields of the operation. Long texts that none of them reads are not read. */
  readonly names: ReadonlySet<string>;
}

function columnsFor<Row extends object>({ entity }: ListEdge<Row>, names: ReadonlySet<string>) {
  return Object.keys(entity.columns).filter(
    (column) => isRead(column, names) || !(entity.texts ?? []).includes(column),
  );
}

/** Reads pages of one shape with one statement. */
async function readShape<Row extends object>(
  db: Queryable,
  edge: ListEdge<Row>,
  keys: readonly PageKey[],
): Promise<Map<PageKey, Row[]>> {
  const [first] = keys;
  if (first === undefined) return new Map();
  const pages = pagesStatement(edge, first.page, columnsFor(edge, first.names));
  const rows = await queryWritten(db, pages, keys);
  const lists = new Map<PageKey, Row[]>(keys.map((key) => [key, []]));
  for (const row of rows) {
    const key = keys[row[PAGE_NUMBER] - 1];
    if (key !== undefined) lists.get(key)?.push(row);
  }
  return lists;
}

/** Reads pages, in the order of their keys, with one statement per shape. */
export async function readKeys<Row extends object>(
  db: Queryable,
  edge: ListEdge<Row>,
  keys: readonly PageKey[],
): Promise<Row[][]> {
  const shapes = Map.groupBy(keys, ({ page }) => pagesShape(page));
  const parts = await Promise.all([...shapes.values()].map((group) => readShape(db, edge, group)));
  const lists = new Map(parts.flatMap((part) => [...part]));
  return keys.map((key) => lists.get(key) ?? []);
}
