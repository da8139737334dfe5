import type { Context } from '../context.ts';
import { notFound } from '../errors.ts';
import type { Page } from '../pagination/arguments.ts';
import type { Entity, ListEdge } from './entity.ts';
import { readPages } from './pages.ts';
import { readByIds } from './read.ts';
import { inRound } from './rounds.ts';

/** Loads the rows with the ids, in the order of the ids; undefined for an id without a row. */
export function loadByIds<Row extends { readonly id: string }>(
  context: Context,
  entity: Entity<Row>,
  ids: readonly string[],
): Promise<readonly (Row | undefined)[]> {
  return inRound(context, entity, ids, (all) => readByIds(context.db, entity, all));
}

/** The `load` of an object type. An id without a row is NOT_FOUND; `what` names the type in the message. */
export function loaderOf<Row extends { readonly id: string }>(entity: Entity<Row>, what: string) {
  return async (ids: string[], context: Context): Promise<(Row | Error)[]> => {
    const rows = await loadByIds(context, entity, ids);
    return rows.map((row) => row ?? notFound(what));
  };
}

/** Loads the same page of a list for each parent, in the order of the parents. */
export function loadPages<Row extends object>(
  context: Context,
  edge: ListEdge<Row>,
  parentIds: readonly string[],
  page: Page,
): Promise<readonly Row[][]> {
  const keys = parentIds.map((id) => ({ id, page }));
  return inRound(context, edge, keys, (all) => readPages(context, edge, all));
}
