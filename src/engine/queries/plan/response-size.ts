import { valueNotesOf } from '../../core/field-options.ts';
import { MAX_COUNT } from '../pagination.ts';
import { isToMany } from '../sql-mappings.ts';
import { fromIds, type PlanArguments, type PlanSql } from './arguments.ts';
import {
  type ConnectionPlan,
  type FieldPlan,
  isNodeList,
  nodeObjects,
  type ObjectPlan,
  type RootMember,
} from './plan.ts';
import { CURSOR_JSON_BYTES } from './sql-fragments.ts';
import {
  buildSql,
  idRows,
  isListPlan,
  ownerCondition,
  pageOf,
  ROW_ID,
  rowById,
  rowIdSql,
  rowsSql,
  selectFor,
  valueSql,
} from './sql-statement.ts';

/** The quotes around a name, its colon and its comma. */
const NAME_BYTES = 4;
const BRACKETS = 2;
/** Longer strings are measured. Shorter ones are bounded by the operation's complexity. */
const SHORT_TEXT_BYTES = 2_000;

/** `fixed` is the size without columns and fields with a mapping. */
interface RowSize {
  readonly columns: readonly string[];
  readonly fixed: number;
  readonly fieldPlans: readonly FieldPlan[];
}

function rowSize({ members }: ObjectPlan): RowSize {
  let fixed = BRACKETS;
  const columns: string[] = [];
  const fieldPlans: FieldPlan[] = [];
  for (const member of members) {
    fixed += member.name.length + NAME_BYTES;
    if (member.kind === 'typename') fixed += member.type.length + BRACKETS;
    if (member.kind === 'column') columns.push(member.property);
    if (member.kind === 'mapped') fieldPlans.push(member.plan);
  }
  return { columns, fixed, fieldPlans };
}

const nameBytes = ({ name }: { readonly name: string }) => name.length + NAME_BYTES;

function mostOfConnection(
  { members }: ConnectionPlan,
  limit: number,
  node: (object: ObjectPlan) => number,
): number {
  let bytes = BRACKETS;
  for (const member of members) {
    bytes += nameBytes(member) + BRACKETS;
    if (member.kind === 'typename') bytes += member.type.length;
    if (member.kind === 'totalCount') bytes += `${MAX_COUNT}`.length;
    if (member.kind === 'nodes') bytes += limit * (node(member.object) + 1);
    if (member.kind === 'edges') {
      let edge = BRACKETS + 1;
      for (const inner of member.members) {
        edge += nameBytes(inner);
        if (inner.kind === 'typename') edge += inner.type.length + BRACKETS;
        else edge += inner.kind === 'cursor' ? CURSOR_JSON_BYTES : node(inner.object);
      }
      bytes += limit * edge;
    }
    if (member.kind === 'pageInfo')
      for (const inner of member.members)
        bytes +=
          nameBytes(inner) + (inner.kind === 'typename' ? inner.type.length + BRACKETS : CURSOR_JSON_BYTES);
  }
  return bytes;
}

/**
 * Computes the size with full lists, and with strings as long as their rules allow and fully escaped. The maximum of
 * nearly all queries is small, so nothing needs to be measured.
 */
export function mostBytes(roots: readonly RootMember[], given: Pick<PlanArguments, 'byField'>): number {
  const mostOfRow = (object: ObjectPlan): number => {
    const { columns, fixed, fieldPlans } = rowSize(object);
    let row = fixed;
    for (const column of columns) row += object.bytes(column);
    for (const plan of fieldPlans) row += most(plan);
    return row;
  };
  const most = (plan: FieldPlan): number => {
    const { object, types, connection, maxBytes } = plan;
    const { page, count = 1 } = given.byField.get(plan) ?? {};
    if (types !== undefined) return BRACKETS + count * (1 + Math.max('null'.length, ...types.map(mostOfRow)));
    if (object === undefined) return maxBytes;
    const limit = page?.limit ?? 0;
    if (connection !== undefined) return mostOfConnection(connection, limit, mostOfRow);
    const row = mostOfRow(object) + 1;
    return isToMany(plan.mapping) ? BRACKETS + limit * row : row;
  };
  let bytes = BRACKETS;
  for (const member of roots)
    bytes +=
      nameBytes(member) + (member.kind === 'typename' ? member.type.length + BRACKETS : most(member.plan));
  return bytes;
}

/**
 * The minimum size of the JSON. The SQL reads the lengths of long strings, which PostgreSQL knows without reading the
 * strings. A string takes at most six times its length in JSON.
 */
function leastBytesSql(roots: readonly RootMember[], sql: PlanSql): string {
  let aliases = 0;

  const isLongRow = (object: ObjectPlan): boolean => {
    const { columns, fieldPlans } = rowSize(object);
    return columns.some((column) => object.bytes(column) > SHORT_TEXT_BYTES) || fieldPlans.some(isLong);
  };

  const isLong = ({ object, types, connection, maxBytes }: FieldPlan): boolean => {
    if (types !== undefined) return types.some(isLongRow);
    if (object === undefined) return maxBytes > SHORT_TEXT_BYTES;
    return connection === undefined ? isLongRow(object) : nodeObjects(connection).some(isLongRow);
  };

  function rowSql(object: ObjectPlan, alias: string): string {
    const { columns, fixed, fieldPlans } = rowSize(object);
    const times = new Map<string, number>();
    for (const column of columns)
      if (object.bytes(column) > SHORT_TEXT_BYTES) times.set(column, (times.get(column) ?? 0) + 1);
    const terms = [`${fixed}::bigint`];
    for (const [column, count] of times)
      terms.push(`${count}::bigint * coalesce(octet_length(${alias}."${column}"::text), 0)`);
    for (const plan of fieldPlans) {
      const term = fieldSql(plan, alias);
      if (term !== undefined) terms.push(term);
    }
    return terms.join(' + ');
  }

  /** The SQL reads the rows again for each selection of nodes with long strings. */
  function connectionTerms(connection: ConnectionPlan, rows: string): string[] {
    return nodeObjects(connection).flatMap((object) => (isLongRow(object) ? rowsTerm(object, rows) : []));
  }

  function rowsTerm(object: ObjectPlan, rows: string): string {
    aliases += 1;
    const alias = `m${aliases}`;
    return `coalesce((SELECT sum(${rowSql(object, alias)})::bigint FROM (${rows}) AS ${alias}), 0)`;
  }

  function rowWithId(object: ObjectPlan, id: string, condition?: string): string {
    aliases += 1;
    const alias = `m${aliases}`;
    const row = `SELECT ${selectFor(object)} ${rowById(object.entity, id, condition)}`;
    return `(SELECT ${rowSql(object, alias)} FROM (${row}) AS ${alias})`;
  }

  /** Nodes of types without long strings are not measured. */
  function nodesSql(plan: FieldPlan, types: readonly ObjectPlan[]): string {
    const ids = sql.forField(plan, fromIds);
    const isList = isNodeList(plan);
    const id = isList ? ROW_ID : `${ids}::uuid`;
    const sizes = types.filter(isLongRow).map((type) => rowWithId(type, id, ownerCondition(plan, type, sql)));
    const node = `coalesce(${[...sizes, '0'].join(', ')})`;
    return isList ? `coalesce((SELECT sum(${node})::bigint FROM ${idRows(ids)}), 0)` : node;
  }

  function fieldSql(plan: FieldPlan, parent: string | undefined): string | undefined {
    const { mapping, object, types } = plan;
    if (types !== undefined && isLong(plan)) return nodesSql(plan, types);
    if (!isLong(plan)) return undefined;
    if (mapping.kind === 'value') {
      // Values from another table are not measured, because measuring would read the table twice.
      const { columns } = valueNotesOf(plan.field);
      if (columns === undefined) return undefined;
      return `coalesce(octet_length(${valueSql(plan, mapping, parent ?? '', sql)}::text), 0)::bigint`;
    }
    if (object === undefined) return undefined;
    if (mapping.kind === 'row' || mapping.kind === 'one')
      return `coalesce(${rowWithId(object, rowIdSql(plan, mapping, parent, sql))}, 0)`;
    if (!isListPlan(plan)) return undefined;
    const rows = rowsSql(plan, pageOf(plan, sql), parent, sql);
    return plan.connection === undefined
      ? rowsTerm(object, rows)
      : connectionTerms(plan.connection, rows).join(' + ');
  }

  const terms = roots.flatMap((root) =>
    root.kind === 'mapped' ? (fieldSql(root.plan, undefined) ?? []) : [],
  );
  return terms.length === 0 ? '0::bigint' : terms.join(' + ');
}

/**
 * Writes the JSON only if its minimum size fits, so the JSON has at most six times the maximum. The statement returns
 * the JSON only if its size fits. One statement reads both sizes in one snapshot. `size` is the size of the JSON or,
 * if it was not built, its minimum size.
 */
export function buildBoundedSql(roots: readonly RootMember[], sql: PlanSql, maxBytes: number): string {
  return `SELECT CASE WHEN octet_length(b.data) <= ${maxBytes} THEN b.data END AS data,
  coalesce(octet_length(b.data), s.least)::bigint AS size
FROM (SELECT ${leastBytesSql(roots, sql)} AS least OFFSET 0) AS s
LEFT JOIN LATERAL (SELECT w.data FROM (${buildSql(roots, sql)}) AS w WHERE s.least <= ${maxBytes} OFFSET 0) AS b ON true`;
}
