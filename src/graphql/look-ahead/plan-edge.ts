import {
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  getNamedType,
  isObjectType,
  type SelectionSetNode,
} from 'graphql';
import type { Scope } from '../../auth/scopes.ts';
import { maxJsonBytes, maxPropertyBytes } from '../max-json-bytes.ts';
import { nodeTypes } from '../node/node-type.ts';
import { codecOf } from '../read/column.ts';
import { columnsOf, type Entity } from '../read/entity.ts';
import { haveSameArguments } from '../same-arguments.ts';
import { permissionsOf, scopesOf } from '../scope-plugin.ts';
import { collectFields } from './collect.ts';
import { type Edge, isToMany } from './edge.ts';
import type { Decline, EdgePlan, JsonForm, Member, ObjectPlan, Permissions } from './plan.ts';
import { connectionObject, planConnectionMembers } from './plan-connection.ts';

interface Planning extends Pick<GraphQLResolveInfo, 'schema' | 'fragments' | 'variableValues'> {
  readonly form: JsonForm;
  /** Undefined in the form `whole`: a caller who lacks any scope gets no such answer. */
  readonly permissions?: Permissions;
  readonly decline?: Decline;
}

/** Whether the caller lacks one of the scopes. */
function isRefused({ permissions }: Planning, scopes: readonly Scope[]): boolean {
  for (const scope of scopes) permissions?.needed.add(scope);
  return scopes.some((scope) => permissions?.lacked.has(scope));
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

const isSameField = (a: FieldNode, b: FieldNode): boolean =>
  a === b || (a.name.value === b.name.value && haveSameArguments(a, b));

/**
 * Whether the fields of one response name are one field. Validation ensures it, except across `nodes` and
 * `edges`, which share one plan in the form `ahead`.
 */
function areOneField({ form }: Planning, [first, ...others]: readonly FieldNode[]): boolean {
  return form === 'whole' || (first !== undefined && others.every((other) => isSameField(first, other)));
}

/** The selections on the nodes of a connection: under `nodes` and under `node` of `edges`. */
function nodeSelections(
  info: Planning,
  connection: GraphQLObjectType,
  sets: readonly SelectionSetNode[],
): SelectionSetNode[] {
  const found: SelectionSetNode[] = [];
  for (const [, fieldNodes] of collectFields(info, connection, sets)) {
    const name = fieldNodes[0]?.name.value;
    const below = selectionsOf(fieldNodes);
    if (name === 'nodes') found.push(...below);
    const edges = name === 'edges' ? getNamedType(connection.getFields().edges?.type) : undefined;
    if (!isObjectType(edges)) continue;
    for (const [, inner] of collectFields(info, edges, below)) {
      if (inner[0]?.name.value === 'node') found.push(...selectionsOf(inner));
    }
  }
  return found;
}

const selectionsOf = (fieldNodes: readonly FieldNode[]): SelectionSetNode[] =>
  fieldNodes.flatMap(({ selectionSet }) => selectionSet ?? []);

const isOwn = (edge: Edge): boolean => edge.kind === 'row' && edge.own === true;

/** The plan of an edge and everything below it; undefined if look-ahead declines. */
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
  const maxBytes = maxJsonBytes(field);
  if (edge.kind === 'by-id')
    return { edge, field, node, maxBytes, object: undefined, types: planNodes(info, fieldNodes) };
  if (entity === undefined) return { edge, field, node, maxBytes, object: undefined };
  if (!isObjectType(type)) return undefined;
  const sets = selectionsOf(fieldNodes);
  if (edge.kind !== 'connection')
    return { edge, field, node, maxBytes, object: planObject(info, entity, type, sets, isOwn(edge)) };
  if (info.form === 'whole') {
    const connection = planConnectionMembers(info, type, sets, (node, below) =>
      planObject(info, entity, node, below),
    );
    return (
      connection && { edge, field, node, maxBytes, object: connectionObject(entity, connection), connection }
    );
  }
  const object = planConnection(info, entity, type, sets);
  return object && { edge, field, node, maxBytes, object };
}

/** The same selection on each type that a node can have; of a type that is refused, whether the row exists. */
function planNodes(info: Planning, fieldNodes: readonly FieldNode[]): ObjectPlan[] {
  const sets = selectionsOf(fieldNodes);
  return nodeTypes(info.schema).map(({ type, entity, scope }) => {
    const plan = planObject(info, entity, type, isRefused(info, [scope]) ? [] : sets);
    plan.scopes.add(scope);
    return { ...plan, typename: type.name };
  });
}

function planConnection(
  info: Planning,
  entity: Entity<object>,
  connection: GraphQLObjectType,
  sets: readonly SelectionSetNode[],
): ObjectPlan | undefined {
  const type = getNamedType(connection.getFields().nodes?.type);
  if (!isObjectType(type)) return undefined;
  const plan = planObject(info, entity, type, nodeSelections(info, connection, sets));
  // Resolvers build cursors from createdAt and id.
  needColumn(plan, 'createdAt');
  plan.members = undefined;
  return plan;
}

/** The properties of its row that a computed field reads. */
export const rowProperties = (field: GraphQLField<unknown, unknown>): readonly string[] => [
  'id',
  ...(notesOf(field).columns ?? []),
];

function needColumn({ entity, columns, codecs }: ObjectPlan, property: string): void {
  columns.add(property);
  const codec = codecOf(columnsOf(entity)[property]);
  if (codec !== undefined) codecs.set(property, codec);
}

/** The columns that a field's resolver needs, also to call a loader if nothing was read ahead. */
function columnsFor(field: GraphQLField<unknown, unknown>, known: readonly string[]): readonly string[] {
  const edge = edgeOf(field);
  const { pothosExposedField, columns } = notesOf(field);
  if (edge !== undefined) return edge.kind === 'one' ? [edge.key] : (columns ?? []);
  if (pothosExposedField !== undefined && known.includes(pothosExposedField)) return [pothosExposedField];
  return columns ?? known;
}

function planObject(
  info: Planning,
  entity: Entity<object>,
  type: GraphQLObjectType,
  sets: readonly SelectionSetNode[],
  own = false,
): ObjectPlan {
  const known = Object.keys(entity.columns);
  const plan: ObjectPlan = {
    entity,
    columns: new Set(['id']),
    codecs: new Map(),
    bytes: (property) => maxPropertyBytes(type, property),
    edges: new Map(),
    scopes: new Set(),
    members: [],
  };

  const decline = (field: GraphQLField<unknown, unknown>, reason: string) =>
    info.decline?.(`${type.name}.${field.name} ${reason}`);

  /** A member of the response; undefined if the database cannot write it. */
  function planMember(name: string, fieldNodes: readonly FieldNode[]): Member | undefined {
    const [node] = fieldNodes;
    // If one name means two fields, loaders read them.
    if (node === undefined || !areOneField(info, fieldNodes)) return undefined;
    if (node.name.value === '__typename') return { name, kind: 'typename', type: type.name };
    const field = type.getFields()[node.name.value];
    if (field === undefined) return undefined;
    for (const scope of scopesOf(field, own)) plan.scopes.add(scope);
    if (edgeOf(field) === undefined) {
      const { pothosExposedField: property } = notesOf(field);
      if (property === undefined || !known.includes(property))
        return decline(field, 'has no column and no edge');
      if (permissionsOf(field).session === true) return decline(field, 'needs a session');
      return { name, kind: 'column', property, type: field.type };
    }
    const planned = planEdge(info, field, fieldNodes);
    if (planned === undefined) return undefined;
    if (isRepeated(planned)) return decline(field, 'is selected under two names');
    plan.edges.set(name, planned);
    return { name, kind: 'edge', plan: planned };
  }

  /** Whether another name has the same value: a statement would read it per name, a loader only once. */
  function isRepeated({ edge, node }: EdgePlan): boolean {
    return edge.kind === 'value' && [...plan.edges.values()].some((other) => isSameField(other.node, node));
  }

  for (const [name, fieldNodes] of collectFields(info, type, sets)) {
    let refused = false;
    for (const node of fieldNodes) {
      const field = type.getFields()[node.name.value];
      if (field === undefined) continue;
      if (isRefused(info, scopesOf(field, own))) refused = true;
      else for (const column of columnsFor(field, known)) needColumn(plan, column);
    }
    const member = refused ? undefined : planMember(name, fieldNodes);
    if (member === undefined) plan.members = undefined;
    else plan.members?.push(member);
  }
  return plan;
}
