import { pageValues } from '../read/page-statement.ts';
import { isToMany } from './edge.ts';
import type { EdgePlan, ObjectPlan } from './plan.ts';
import {
  buildSql,
  type JsonForm,
  listRows,
  type Pages,
  rowById,
  rowsToRead,
  selectFor,
} from './statement.ts';

/** The quotes around a name, its colon and its comma. */
const NAME_BYTES = 4;
const BRACKETS = 2;
/** Texts that can be longer are measured. Shorter ones are bounded by the operation's complexity. */
const SHORT_TEXT_BYTES = 2_000;

/** A row's JSON: its columns, its edges, and the bytes of everything else. */
interface RowSize {
  readonly columns: readonly string[];
  readonly fixed: number;
  readonly edges: readonly EdgePlan[];
}

function rowSize({ columns, edges, members }: ObjectPlan, form: JsonForm): RowSize {
  if (form === 'ahead' || members === undefined) {
    const names = [...columns, ...edges.keys()];
    const fixed = names.reduce((sum, name) => sum + name.length + NAME_BYTES, BRACKETS);
    return { columns: [...columns], fixed, edges: [...edges.values()] };
  }
  let fixed = BRACKETS;
  const shown: string[] = [];
  for (const member of members) {
    fixed += member.name.length + NAME_BYTES;
    if (member.kind === 'typename') fixed += member.type.length + BRACKETS;
    if (member.kind === 'column') shown.push(member.property);
  }
  return { columns: shown, fixed, edges: [...edges.values()] };
}

/**
 * The maximum size of the JSON of root fields: every list full, every text as long as its rules allow and
 * fully escaped. For nearly all queries it is small, and nothing needs to be measured.
 */
export function mostBytes(
  roots: ReadonlyMap<string, EdgePlan>,
  { pages }: Pick<Pages, 'pages'>,
  form: JsonForm,
): number {
  const most = (plan: EdgePlan): number => {
    const { object, maxBytes } = plan;
    if (object === undefined) return maxBytes;
    const { columns, fixed, edges } = rowSize(object, form);
    let row = fixed + 1;
    for (const column of columns) row += object.bytes(column);
    for (const edge of edges) row += most(edge);
    const page = pages.get(plan);
    return isToMany(plan.edge)
      ? BRACKETS + (page === undefined ? 0 : rowsToRead(plan, page).limit * row)
      : row;
  };
  let bytes = BRACKETS;
  for (const [name, plan] of roots) bytes += name.length + NAME_BYTES + most(plan);
  return bytes;
}

/**
 * The SQL of the minimum size of the JSON of root fields. It reads the same rows, but only the lengths of
 * long texts, which PostgreSQL knows without reading the texts. In JSON, a text takes at most six times its
 * length. The parameters are those of `buildSql`.
 */
function leastBytesSql(roots: ReadonlyMap<string, EdgePlan>, { pages }: Pages, form: JsonForm): string {
  let aliases = 0;
  let parameters = 0;

  const isLong = ({ object, maxBytes }: EdgePlan): boolean => {
    if (object === undefined) return maxBytes > SHORT_TEXT_BYTES;
    const { columns, edges } = rowSize(object, form);
    return columns.some((column) => object.bytes(column) > SHORT_TEXT_BYTES) || edges.some(isLong);
  };

  /** Skips the parameters of an edge that is not measured. */
  function skip(plan: EdgePlan): void {
    const page = pages.get(plan);
    if (plan.edge.kind === 'row') parameters += 1;
    if (page !== undefined) parameters += pageValues(page).length;
    if (isToMany(plan.edge) && page === undefined) return;
    for (const child of plan.object?.edges.values() ?? []) skip(child);
  }

  function rowSql(object: ObjectPlan, alias: string): string {
    const { columns, fixed, edges } = rowSize(object, form);
    const times = new Map<string, number>();
    for (const column of columns)
      if (object.bytes(column) > SHORT_TEXT_BYTES) times.set(column, (times.get(column) ?? 0) + 1);
    const terms = [`${fixed}::bigint`];
    for (const [column, count] of times) terms.push(`${count}::bigint * octet_length(${alias}."${column}")`);
    for (const edge of edges) {
      const sql = edgeSql(edge, alias);
      if (sql !== undefined) terms.push(sql);
    }
    return terms.join(' + ');
  }

  function edgeSql(plan: EdgePlan, parent: string | undefined): string | undefined {
    const { edge, object } = plan;
    if (object === undefined || !isLong(plan)) {
      skip(plan);
      return undefined;
    }
    aliases += 1;
    const alias = `m${aliases}`;
    if (edge.kind === 'row' || edge.kind === 'one') {
      if (edge.kind === 'row') parameters += 1;
      const id = edge.kind === 'row' ? `$${parameters}` : `${parent}."${edge.key}"`;
      const row = `SELECT ${selectFor(object)} ${rowById(edge.entity, id)}`;
      return `coalesce((SELECT ${rowSql(object, alias)} FROM (${row}) AS ${alias}), 0)`;
    }
    const page = pages.get(plan);
    if (page === undefined || !isToMany(edge)) return undefined;
    const first = parameters + 1;
    parameters += pageValues(page).length;
    const rows = listRows({ ...plan, edge, object }, page, parent, first);
    const size = rows.perRow(rowSql(object, alias), '0', alias);
    return `coalesce((SELECT sum(${size})::bigint FROM (${rows.from}) AS ${alias}), 0)`;
  }

  const terms = [...roots.values()].flatMap((plan) => edgeSql(plan, undefined) ?? []);
  return terms.length === 0 ? '0::bigint' : terms.join(' + ');
}

/**
 * The same as `buildSql` for JSON that may be too large. The text is built only if its minimum size fits, so
 * it has at most six times the maximum, and returned only if it fits itself. One statement, so both sizes are
 * of one snapshot. `size` is the size of the text or, if it was not built, its minimum size.
 */
export function buildBoundedSql(
  roots: ReadonlyMap<string, EdgePlan>,
  pages: Pages,
  form: JsonForm,
  maxBytes: number,
): string {
  return `SELECT CASE WHEN octet_length(b.data) <= ${maxBytes} THEN b.data END AS data,
  coalesce(octet_length(b.data), s.least)::bigint AS size
FROM (SELECT ${leastBytesSql(roots, pages, form)} AS least OFFSET 0) AS s
LEFT JOIN LATERAL (SELECT w.data FROM (${buildSql(roots, pages, form)}) AS w WHERE s.least <= ${maxBytes} OFFSET 0) AS b ON true`;
}
