import { getNamedType } from 'graphql';
import type { Position } from '../pagination/cursor.ts';
import { sliceOf } from '../pagination/slice.ts';
import type { PlanArguments } from './arguments.ts';
import { aheadKey } from './edge.ts';
import type { EdgePlan, ObjectPlan } from './plan.ts';

/** A row of the statement's JSON: columns by property, values read ahead by `aheadKey`. */
type JsonRow = Record<string, unknown>;

/** Nodes, each by its type. */
function decodeNodes(
  types: readonly ObjectPlan[],
  nodes: readonly unknown[],
  given: PlanArguments['edges'],
): void {
  for (const node of nodes) {
    if (node === null) continue;
    const row = node as JsonRow;
    const type = types.find(({ typename }) => typename === row.__typename);
    if (type !== undefined) decodeRow(type, row, given);
  }
}

/** Converts rows in place to what resolvers expect: columns are decoded, connections become slices. */
export function decode(plan: EdgePlan, value: unknown, given: PlanArguments['edges']): unknown {
  const { edge, field, object, types } = plan;
  if (types !== undefined) {
    decodeNodes(types, Array.isArray(value) ? value : [value], given);
    return value;
  }
  if (value === null) return null;
  if (edge.kind === 'value')
    return getNamedType(field.type).name === 'DateTime' ? new Date(`${value}`) : value;
  if (object === undefined) return value;
  if (!Array.isArray(value)) {
    decodeRow(object, value as JsonRow, given);
    return value;
  }
  const rows = value as JsonRow[];
  const page = given.get(plan)?.page;
  for (const row of rows.slice(0, page?.limit)) decodeRow(object, row, given);
  return edge.kind === 'connection' && page !== undefined
    ? sliceOf(rows as unknown as Position[], page)
    : rows;
}

function decodeRow({ codecs, edges }: ObjectPlan, row: JsonRow, given: PlanArguments['edges']): void {
  for (const [property, codec] of codecs) row[property] = codec.parse(row[property]);
  for (const [name, child] of edges) {
    const key = aheadKey(name);
    if (key in row) row[key] = decode(child, row[key], given);
  }
}
