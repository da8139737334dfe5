import {
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  getNamedType,
  isObjectType,
  type SelectionSetNode,
} from 'graphql';
import { maxJsonBytes, maxPropertyBytes, valueNotesOf } from '../../core/field-options.ts';
import { getRequiredScopes, permissionsOf } from '../../core/permissions.ts';
import { collectFields, haveSameArguments } from '../../core/selection.ts';
import type { Entity } from '../entity.ts';
import { nodeTypes } from '../node-type.ts';
import { isToMany, type SqlMapping } from '../sql-mappings.ts';
import {
  connectionObject,
  type FieldPlan,
  type ObjectPlan,
  type PlannedField,
  planConnectionMembers,
  type RecordFallback,
} from './plan.ts';

interface Planning extends Pick<GraphQLResolveInfo, 'schema' | 'fragments' | 'variableValues'> {
  readonly recordFallback?: RecordFallback;
}

export function getSqlMapping(field: GraphQLField<unknown, unknown>): SqlMapping | undefined {
  return field.extensions.sql as SqlMapping | undefined;
}

export function isOfCaller(field: GraphQLField<unknown, unknown>): boolean {
  const mapping = getSqlMapping(field);
  return mapping?.kind === 'value' && mapping.ofCaller === true;
}

function entityOf(mapping: SqlMapping): Entity<object> | undefined {
  if (mapping.kind === 'value' || mapping.kind === 'by-id') return undefined;
  return isToMany(mapping) ? mapping.list.entity : mapping.entity;
}

const selectionsOf = (fieldNodes: readonly FieldNode[]): SelectionSetNode[] =>
  fieldNodes.flatMap(({ selectionSet }) => selectionSet ?? []);

const isOwn = (mapping: SqlMapping): boolean => mapping.kind === 'row' && mapping.own === true;

/** Undefined if the database cannot write the field or its selection. */
export function planField(
  info: Planning,
  field: GraphQLField<unknown, unknown>,
  fieldNodes: readonly FieldNode[],
): FieldPlan | undefined {
  const mapping = getSqlMapping(field);
  const [node] = fieldNodes;
  if (mapping === undefined || node === undefined) return undefined;
  const entity = entityOf(mapping);
  const type = getNamedType(field.type);
  const plan = { mapping, field, node, maxBytes: maxJsonBytes(field), object: undefined };
  const sets = selectionsOf(fieldNodes);
  if (mapping.kind === 'by-id') {
    const types = planNodes(info, sets);
    return types && { ...plan, types };
  }
  if (entity === undefined) return plan;
  if (!isObjectType(type)) return undefined;
  if (mapping.kind !== 'connection') {
    const object = planObject(info, entity, type, sets, isOwn(mapping));
    return object && { ...plan, object };
  }
  const connection = planConnectionMembers(info, type, sets, (node, below) =>
    planObject(info, entity, node, below),
  );
  return connection && { ...plan, object: connectionObject(entity, connection), connection };
}

function planNodes(info: Planning, sets: readonly SelectionSetNode[]): ObjectPlan[] | undefined {
  const plans: ObjectPlan[] = [];
  for (const { type, entity, scope, owner } of nodeTypes(info.schema)) {
    const plan = planObject(info, entity, type, sets);
    if (plan === undefined) return undefined;
    const columns: Readonly<Record<string, string>> = entity.columns;
    const column = owner === undefined ? undefined : columns[owner];
    if (column === undefined) plan.scopes.add(scope);
    plans.push(column === undefined ? plan : { ...plan, owner: { column, scope } });
  }
  return plans;
}

export const rowProperties = (field: GraphQLField<unknown, unknown>): readonly string[] => [
  'id',
  ...(valueNotesOf(field).columns ?? []),
];

function planObject(
  info: Planning,
  entity: Entity<object>,
  type: GraphQLObjectType,
  sets: readonly SelectionSetNode[],
  own = false,
): ObjectPlan | undefined {
  const known = Object.keys(entity.columns);
  const members: PlannedField[] = [];
  const plan: ObjectPlan = {
    entity,
    columns: new Set(['id']),
    bytes: (property) => maxPropertyBytes(type, property),
    fieldPlans: new Map(),
    scopes: new Set(),
    members,
  };

  const fallBack = (field: GraphQLField<unknown, unknown>, reason: string) =>
    info.recordFallback?.(`${type.name}.${field.name} ${reason}`);

  function planColumn(name: string, field: GraphQLField<unknown, unknown>): PlannedField | undefined {
    const { pothosExposedField: property } = valueNotesOf(field);
    if (property === undefined || !known.includes(property))
      return fallBack(field, 'has no column and no "sql"');
    if (permissionsOf(field).session === true) return fallBack(field, 'needs a session');
    plan.columns.add(property);
    return { name, kind: 'column', property, type: field.type };
  }

  function planMember(name: string, fieldNodes: readonly FieldNode[]): PlannedField | undefined {
    const [node] = fieldNodes;
    if (node === undefined) return undefined;
    if (node.name.value === '__typename') return { name, kind: 'typename', type: type.name };
    const field = type.getFields()[node.name.value];
    if (field === undefined) return undefined;
    for (const scope of getRequiredScopes(field, own)) plan.scopes.add(scope);
    if (!own && permissionsOf(field).ownOnly === true)
      return fallBack(field, 'is for the account itself, which the query may not start from');
    const mapping = getSqlMapping(field);
    if (mapping === undefined) return planColumn(name, field);
    const known = mapping.kind === 'value' ? sameValue(node) : undefined;
    if (known !== undefined) return { name, kind: 'mapped', plan: known };
    const planned = planField(info, field, fieldNodes);
    if (planned === undefined) return undefined;
    for (const column of valueNotesOf(field).columns ?? []) plan.columns.add(column);
    plan.fieldPlans.set(name, planned);
    return { name, kind: 'mapped', plan: planned };
  }

  const sameValue = (node: FieldNode): FieldPlan | undefined =>
    [...plan.fieldPlans.values()].find(
      (other) =>
        other.mapping.kind === 'value' &&
        other.node.name.value === node.name.value &&
        haveSameArguments(other.node, node),
    );

  for (const [name, fieldNodes] of collectFields(info, type, sets)) {
    const member = planMember(name, fieldNodes);
    if (member === undefined) return undefined;
    members.push(member);
  }
  return plan;
}
