import type { Parameter } from '../../database/statement.ts';
import type { RequestedRows } from '../../engine/queries/entity.ts';
import { IS_LAST, MATCHES } from '../../engine/queries/page-statement.ts';
import { postEntity } from '../post/type.ts';

/** Later than every post. */
const NO_CURSOR = { at: 'infinity', id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };

/** Statements retain these functions, so the functions hold nothing else. */
const SOURCES: readonly ((page: RequestedRows) => Parameter)[] = [
  ({ terms }) => terms?.words ?? null,
  ({ terms }) => terms?.phrases ?? null,
  ({ terms }) => terms?.buckets ?? 0,
  ({ after }) => (after ?? NO_CURSOR).at,
  ({ after }) => (after ?? NO_CURSOR).id,
];
const TYPES = ['text', 'text', 'int', 'timestamptz', 'uuid'];

/** Where the walk has stopped early, its last row has a position but no post. */
function columnSql(name: string): string {
  if (name === 'id' || name === 'createdAt') return name === 'id' ? 'k.id' : 'k.created_at';
  const columns: Readonly<Record<string, string>> = postEntity.columns;
  return `${columns[name]}`;
}

/**
 * SQL of the posts that a search finds, newest first. The migration that creates the index has `search_walk`. The entry
 * of a deleted post can still be in the index, so it counts for the walk but is no row of the page.
 */
export function searchRows(
  page: RequestedRows,
  columns: readonly string[],
  add: (source: (page: RequestedRows) => Parameter) => string,
): string {
  const parameters = SOURCES.map((source, index) => `${add(source)}::${TYPES[index]}`);
  const selected = columns.map((name) => `${columnSql(name)} AS "${name}"`);
  return `SELECT ${selected.join(', ')}, t.id IS NOT NULL AS "${MATCHES}", k.is_last AS "${IS_LAST}"
  FROM search_walk(${parameters.join(', ')}, ${page.limit}) WITH ORDINALITY AS k(id, created_at, is_found, is_last, n)
  LEFT JOIN posts t ON t.id = k.id AND k.is_found
  WHERE t.id IS NOT NULL OR k.is_last ORDER BY k.n LIMIT ${page.limit}`;
}
