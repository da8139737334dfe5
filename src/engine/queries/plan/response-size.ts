import { valueNotesOf } from '../../core/field-options.ts';
import { MAX_COUNT } from '../pagination.ts';
import { isToMany } from '../sql-mappings.ts';
import { fromIds, type PlanArguments, type PlanSql } from './arguments.ts';
import {
  type ConnectionPlan,
  type FieldPlan,
  isNodeList,
  type MappedMember,
  nodeObjects,
  type ObjectPlan,
  type RootMember,
  type TypenameMember,
} from './plan.ts';
import { CURSOR_JSON_BYTES, isTypename } from './sql-fragments.ts';
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

/** Returns the size of an object. `value` returns the size of a member's value. */
function objectBytes<Known extends { readonly name: string; readonly kind: string }>(
  members: readonly (Known | TypenameMember)[],
  value: (member: Known) => number,
): number {
  let bytes = BRACKETS;
  for (const member of members) {
    bytes += member.name.length + NAME_BYTES;
    bytes += isTypename(member) ? member.type.length + BRACKETS : value(member);
  }
  return bytes;
}

const listBytes = (items: number, item: number) => BRACKETS + items * (item + 1);

function mostOfConnection(
  { members }: ConnectionPlan,
  limit: number,
  node: (object: ObjectPlan) => number,
): number {
  return objectBytes(members, (member) => {
    if (member.kind === 'totalCount') return `${MAX_COUNT}`.length;
    if (member.kind === 'pageInfo') return objectBytes(member.members, () => CURSOR_JSON_BYTES);
    if (member.kind === 'nodes') return listBytes(limit, node(member.object));
    const edge = objectBytes(member.members, (inner) =>
      inner.kind === 'cursor' ? CURSOR_JSON_BYTES : node(inner.object),
    );
    return listBytes(limit, edge);
  });
}

/**
 * Computes the size with full lists, and with strings as long as their rules allow and fully escaped. The maximum of
 * nearly all queries is small, so nothing needs to be measured.
 */
export function mostBytes(roots: readonly RootMember[], given: Pick<PlanArguments, 'byField'>): number {
  const mostOfRow = (object: ObjectPlan): number =>
    objectBytes(object.members, (member) =>
      member.kind === 'column' ? object.bytes(member.property) : most(member),
    );
  const most = ({ plan }: MappedMember): number => {
    const { object, types, connection, maxBytes } = plan;
    const { page, count = 1 } = given.byField.get(plan) ?? {};
    if (types !== undefined) return listBytes(count, Math.max('null'.length, ...types.map(mostOfRow)));
    if (object === undefined) return maxBytes;
    const limit = page?.limit ?? 0;
    if (connection !== undefined) return mostOfConnection(connection, limit, mostOfRow);
    const row = mostOfRow(object);
    return isToMany(plan.mapping) ? listBytes(limit, row) : row;
  };
  return objectBytes(roots, most);
}

/**
 * The minimum size of the JSON. The SQL reads the lengths of long strings, which PostgreSQL knows without reading the
 * strings. A string takes at most six times its length in JSON.
 */
function leastBytesSql(roots: readonly RootMember[], sql: PlanSql): string {
  let aliases = 0;

  const isLongRow = (object: ObjectPlan): boolean =>
    object.members.some((member) => {
      if (member.kind === 'column') return object.bytes(member.property) > SHORT_TEXT_BYTES;
      return member.kind === 'mapped' && isLong(member.plan);
    });

  const isLong = ({ object, types, connection, maxBytes }: FieldPlan): boolean => {
    if (types !== undefined) return types.some(isLongRow);
    if (object === undefined) return maxBytes > SHORT_TEXT_BYTES;
    return connection === undefined ? isLongRow(object) : nodeObjects(connection).some(isLongRow);
  };

  function rowSql(object: ObjectPlan, alias: string): string {
    const terms = [`${objectBytes(object.members, () => 0)}::bigint`];
    const times = new Map<string, number>();
    for (const member of object.members) {
      if (member.kind === 'mapped') terms.push(...fieldTerms(member, alias));
      if (member.kind === 'column' && object.bytes(member.property) > SHORT_TEXT_BYTES)
        times.set(member.property, (times.get(member.property) ?? 0) + 1);
    }
    for (const [column, count] of times)
      terms.push(`${count}::bigint * coalesce(octet_length(${alias}."${column}"::text), 0)`);
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

  function fieldTerms({ plan }: MappedMember, parent: string | undefined): string[] {
    const { mapping, object, types } = plan;
    if (!isLong(plan)) return [];
    if (types !== undefined) return [nodesSql(plan, types)];
    if (mapping.kind === 'value') {
      // Values from another table are not measured, because measuring would read the table twice.
      if (valueNotesOf(plan.field).columns === undefined) return [];
      return [`coalesce(octet_length(${valueSql(plan, mapping, parent ?? '', sql)}::text), 0)::bigint`];
    }
    if (object === undefined) return [];
    if (mapping.kind === 'row' || mapping.kind === 'one')
      return [`coalesce(${rowWithId(object, rowIdSql(plan, mapping, parent, sql))}, 0)`];
    if (!isListPlan(plan)) return [];
    const rows = rowsSql(plan, pageOf(plan, sql), parent, sql);
    return plan.connection === undefined ? [rowsTerm(object, rows)] : connectionTerms(plan.connection, rows);
  }

  const terms = roots.flatMap((root) => (root.kind === 'mapped' ? fieldTerms(root, undefined) : []));
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
