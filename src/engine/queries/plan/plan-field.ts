import {
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  getNamedType,
  isObjectType,
  type SelectionSetNode,
} from 'graphql';
import { maxJsonBytes, maxPropertyBytes } from '../../core/field-options.ts';
import { permissionsOf, scopesOf } from '../../core/permissions.ts';
import { collectFields, haveSameArguments } from '../../core/selection.ts';
import type { Entity } from '../entity.ts';
import { nodeTypes } from '../node-type.ts';
import { type Edge, isToMany } from '../relation.ts';
import {
  connectionObject,
  type Decline,
  type EdgePlan,
  type Member,
  type ObjectPlan,
  planConnectionMembers,
} from './plan.ts';

interface Planning extends Pick<GraphQLResolveInfo, 'schema' | 'fragments' | 'variableValues'> {
  readonly decline?: Decline;
}

export function edgeOf(field: GraphQLField<unknown, unknown>): Edge | undefined {
  return field.extensions.edge as Edge | undefined;
}

/** Whether the value of a field depends on who asks. */
export function isOfCaller(field: GraphQLField<unknown, unknown>): boolean {
  const edge = edgeOf(field);
  return edge?.kind === 'value' && edge.ofCaller === true;
}

/** What plugins record about a field: the column that it shows, or the columns that its resolver reads. */
interface FieldNotes {
  readonly pothosExposedField?: string;
  readonly columns?: readonly string[];
}

export function notesOf(field: GraphQLField<unknown, unknown>): FieldNotes {
  return field.extensions as FieldNotes;
}

function entityOf(edge: Edge): Entity<object> | undefined {
  if (edge.kind === 'value' || edge.kind === 'by-id') return undefined;
  return isToMany(edge) ? edge.list.entity : edge.entity;
}

const selectionsOf = (fieldNodes: readonly FieldNode[]): SelectionSetNode[] =>
  fieldNodes.flatMap(({ selectionSet }) => selectionSet ?? []);

const isOwn = (edge: Edge): boolean => edge.kind === 'row' && edge.own === true;

/** The plan of an edge and everything below it; undefined if the database cannot write it. */
export function planEdge(
  info: Planning,
  field: GraphQLField<unknown, unknown>,
  fieldNodes: readonly FieldNode[],
): EdgePlan | undefined {
  const edge = edgeOf(field);
  const [node] = fieldNodes;
  if (edge === undefined || node === undefined) return undefined;
  const entity = entityOf(edge);
  const type = getNamedType(field.type);
  const plan = { edge, field, node, maxBytes: maxJsonBytes(field), object: undefined };
  const sets = selectionsOf(fieldNodes);
  if (edge.kind === 'by-id') {
    const types = planNodes(info, sets);
    return types && { ...plan, types };
  }
  if (entity === undefined) return plan;
  if (!isObjectType(type)) return undefined;
  if (edge.kind !== 'connection') {
    const object = planObject(info, entity, type, sets, isOwn(edge));
    return object && { ...plan, object };
  }
  const connection = planConnectionMembers(info, type, sets, (node, below) =>
    planObject(info, entity, node, below),
  );
  return connection && { ...plan, object: connectionObject(entity, connection), connection };
}

/** Plans the selection on each type that a node can have. */
function planNodes(info: Planning, sets: readonly SelectionSetNode[]): ObjectPlan[] | undefined {
  const plans: ObjectPlan[] = [];
  for (const { type, entity, scope } of nodeTypes(info.schema)) {
    const plan = planObject(info, entity, type, sets);
    if (plan === undefined) return undefined;
    plan.scopes.add(scope);
    plans.push(plan);
  }
  return plans;
}

/** The properties of its row that a computed field reads. */
export const rowProperties = (field: GraphQLField<unknown, unknown>): readonly string[] => [
  'id',
  ...(notesOf(field).columns ?? []),
];

function planObject(
  info: Planning,
  entity: Entity<object>,
  type: GraphQLObjectType,
  sets: readonly SelectionSetNode[],
  own = false,
): ObjectPlan | undefined {
  const known = Object.keys(entity.columns);
  const members: Member[] = [];
  const plan: ObjectPlan = {
    entity,
    columns: new Set(['id']),
    bytes: (property) => maxPropertyBytes(type, property),
    edges: new Map(),
    scopes: new Set(),
    members,
  };

  const decline = (field: GraphQLField<unknown, unknown>, reason: string) =>
    info.decline?.(`${type.name}.${field.name} ${reason}`);

  function planColumn(name: string, field: GraphQLField<unknown, unknown>): Member | undefined {
    const { pothosExposedField: property } = notesOf(field);
    if (property === undefined || !known.includes(property))
      return decline(field, 'has no column and no edge');
    if (permissionsOf(field).session === true) return decline(field, 'needs a session');
    plan.columns.add(property);
    return { name, kind: 'column', property, type: field.type };
  }

  /** A member of the response; undefined if the database cannot write it. */
  function planMember(name: string, fieldNodes: readonly FieldNode[]): Member | undefined {
    const [node] = fieldNodes;
    if (node === undefined) return undefined;
    if (node.name.value === '__typename') return { name, kind: 'typename', type: type.name };
    const field = type.getFields()[node.name.value];
    if (field === undefined) return undefined;
    for (const scope of scopesOf(field, own)) plan.scopes.add(scope);
    const edge = edgeOf(field);
    if (edge === undefined) return planColumn(name, field);
    const known = edge.kind === 'value' ? sameValue(node) : undefined;
    if (known !== undefined) return { name, kind: 'edge', plan: known };
    const planned = planEdge(info, field, fieldNodes);
    if (planned === undefined) return undefined;
    for (const column of notesOf(field).columns ?? []) plan.columns.add(column);
    plan.edges.set(name, planned);
    return { name, kind: 'edge', plan: planned };
  }

  const sameValue = (node: FieldNode): EdgePlan | undefined =>
    [...plan.edges.values()].find(
      (other) =>
        other.edge.kind === 'value' &&
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
