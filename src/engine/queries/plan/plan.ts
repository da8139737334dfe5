import {
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
  type SelectionSetNode,
} from 'graphql';
import type { Scope } from '../../../auth/scopes.ts';
import { collectFields } from '../../core/selection.ts';
import type { Entity } from '../entity.ts';
import { openEnd, type PageRange } from '../pagination.ts';
import type { SqlMapping } from '../sql-mappings.ts';

/** Records the reason why the database cannot write a root field. The first reason counts. */
export type RecordFallback = (reason: string) => undefined;

export interface ObjectPlan {
  readonly entity: Entity<object>;
  readonly columns: Set<string>;
  /** The maximum size of a property in JSON, in bytes. */
  readonly bytes: (property: string) => number;
  /** By response name. */
  readonly fieldPlans: Map<string, FieldPlan>;
  /** The scopes without which columns of the rows are rejected. */
  readonly scopes: Set<Scope>;
  readonly members: readonly PlannedField[];
  /** Set for a node that only one account finds. */
  readonly owner?: { readonly column: string; readonly scope: Scope };
}

export interface TypenameMember {
  readonly name: string;
  readonly kind: 'typename';
  readonly type: string;
}

export interface ColumnMember {
  readonly name: string;
  readonly kind: 'column';
  readonly property: string;
  readonly type: GraphQLOutputType;
}

/** Members with equal computed values share a plan, so that the value is computed once. */
export interface MappedMember {
  readonly name: string;
  readonly kind: 'mapped';
  readonly plan: FieldPlan;
}

export type PlannedField = ColumnMember | MappedMember | TypenameMember;

export type RootMember = MappedMember | TypenameMember;

export interface FieldPlan {
  readonly mapping: SqlMapping;
  readonly field: GraphQLField<unknown, unknown>;
  readonly node: FieldNode;
  /** The maximum size of plain values in JSON. */
  readonly maxBytes: number;
  /** The selection of the rows to which the field leads. Undefined for plain values and for nodes. */
  readonly object: ObjectPlan | undefined;
  /** The selection on each type that a node can have. */
  readonly types?: readonly ObjectPlan[];
  readonly connection?: ConnectionPlan | undefined;
}

const NONE: readonly ObjectPlan[] = [];

/** Nodes have a plan for each type, and plain values have none. */
export const objectsOf = ({ object, types = NONE }: FieldPlan): readonly ObjectPlan[] =>
  object === undefined ? types : [object];

export const isNodeList = ({ field }: Pick<FieldPlan, 'field'>): boolean =>
  isListType(getNullableType(field.type));

/** Each selection of the nodes has a separate plan. */
export interface ConnectionPlan {
  /** In the order of the response. */
  readonly members: readonly ConnectionMember[];
}

export type ConnectionMember =
  | TypenameMember
  | { readonly name: string; readonly kind: 'totalCount' }
  | { readonly name: string; readonly kind: 'nodes'; readonly object: ObjectPlan }
  | { readonly name: string; readonly kind: 'edges'; readonly members: readonly ConnectionEdgeMember[] }
  | { readonly name: string; readonly kind: 'pageInfo'; readonly members: readonly PageInfoMember[] };

export type ConnectionEdgeMember =
  | TypenameMember
  | { readonly name: string; readonly kind: 'cursor' }
  | { readonly name: string; readonly kind: 'node'; readonly object: ObjectPlan };

const PAGE_INFO_FIELDS = ['hasNextPage', 'hasPreviousPage', 'startCursor', 'endCursor'] as const;

export type PageInfoMember =
  | TypenameMember
  | { readonly name: string; readonly kind: (typeof PAGE_INFO_FIELDS)[number] };

interface Info extends Pick<GraphQLResolveInfo, 'fragments' | 'variableValues'> {
  readonly recordFallback?: RecordFallback;
}

type PlanNode = (type: GraphQLObjectType, sets: readonly SelectionSetNode[]) => ObjectPlan | undefined;

interface Selected {
  readonly type: GraphQLObjectType;
  readonly sets: readonly SelectionSetNode[];
}

function selectedBy(parent: GraphQLObjectType, fieldNodes: readonly FieldNode[]): Selected | undefined {
  const type = getNamedType(parent.getFields()[fieldNodes[0]?.name.value ?? '']?.type);
  return isObjectType(type)
    ? { type, sets: fieldNodes.flatMap(({ selectionSet }) => selectionSet ?? []) }
    : undefined;
}

/** Undefined if a member is unknown. */
function planMembers<Member>(
  info: Info,
  { type, sets }: Selected,
  plan: (name: string, field: string, fieldNodes: readonly FieldNode[]) => Member | undefined,
): (Member | { readonly name: string; readonly kind: 'typename'; readonly type: string })[] | undefined {
  const members = [];
  for (const [name, fieldNodes] of collectFields(info, type, sets)) {
    const field = fieldNodes[0]?.name.value ?? '';
    const member =
      field === '__typename'
        ? { name, kind: 'typename' as const, type: type.name }
        : plan(name, field, fieldNodes);
    if (member === undefined) return info.recordFallback?.(`the database cannot write ${type.name}.${field}`);
    members.push(member);
  }
  return members;
}

function planEdgeMembers(
  info: Info,
  edges: Selected,
  planNode: PlanNode,
): ConnectionEdgeMember[] | undefined {
  return planMembers<ConnectionEdgeMember>(info, edges, (name, field, fieldNodes) => {
    if (field === 'cursor') return { name, kind: 'cursor' };
    const node = selectedBy(edges.type, fieldNodes);
    const object = field === 'node' && node ? planNode(node.type, node.sets) : undefined;
    return object && { name, kind: 'node', object };
  });
}

function planPageInfo(info: Info, pageInfo: Selected): PageInfoMember[] | undefined {
  return planMembers<PageInfoMember>(info, pageInfo, (name, field) => {
    const kind = PAGE_INFO_FIELDS.find((known) => known === field);
    return kind && { name, kind };
  });
}

/** Undefined if the database cannot write the whole selection. */
export function planConnectionMembers(
  info: Info,
  type: GraphQLObjectType,
  sets: readonly SelectionSetNode[],
  planNode: PlanNode,
): ConnectionPlan | undefined {
  const members = planMembers<ConnectionMember>(info, { type, sets }, (name, field, fieldNodes) => {
    if (field === 'totalCount') return { name, kind: 'totalCount' };
    const selected = selectedBy(type, fieldNodes);
    if (selected === undefined) return undefined;
    if (field === 'nodes') {
      const object = planNode(selected.type, selected.sets);
      return object && { name, kind: 'nodes', object };
    }
    if (field === 'edges') {
      const edges = planEdgeMembers(info, selected, planNode);
      return edges && { name, kind: 'edges', members: edges };
    }
    const pageInfo = field === 'pageInfo' ? planPageInfo(info, selected) : undefined;
    return pageInfo && { name, kind: 'pageInfo', members: pageInfo };
  });
  return members && { members };
}

export type PageInfoValue = Exclude<PageInfoMember['kind'], 'typename'>;

/** Finds the selected values of `pageInfo` that depend on the rows. Each value is read once for all its aliases. */
export function pageInfoValues({ members }: ConnectionPlan, page: PageRange): ReadonlySet<PageInfoValue> {
  const values = new Set<PageInfoValue>();
  const open = openEnd(page);
  for (const member of members) {
    if (member.kind !== 'pageInfo') continue;
    for (const { kind } of member.members)
      if (kind === open || kind === 'startCursor' || kind === 'endCursor') values.add(kind);
  }
  return values;
}

const WAYS = [false, true].map((backwards): PageRange => ({ limit: 0, offset: 0, backwards }));

/** The maximum for pages in both directions, with a subquery for each `totalCount`. */
export const countConnectionValues = (plan: ConnectionPlan): number =>
  Math.max(...WAYS.map((page) => pageInfoValues(plan, page).size)) +
  plan.members.filter(({ kind }) => kind === 'totalCount').length;

/**
 * Counts the reads of a connection's rows in the SQL of the response. The last cursor also needs the number of rows.
 */
export function readersOf(plan: ConnectionPlan, page: PageRange): number {
  const values = pageInfoValues(plan, page);
  const lists = plan.members.filter(({ kind }) => kind === 'nodes' || kind === 'edges');
  return lists.length + values.size + (values.has('endCursor') ? 1 : 0);
}

export function nodeObjects({ members }: ConnectionPlan): ObjectPlan[] {
  return members.flatMap((member) => {
    if (member.kind === 'nodes') return [member.object];
    if (member.kind !== 'edges') return [];
    return member.members.flatMap((inner) => (inner.kind === 'node' ? [inner.object] : []));
  });
}

/** True if one more row has to show that the list continues at the open end of the page. */
export function showsMore(plan: ConnectionPlan, page: PageRange): boolean {
  const open = openEnd(page);
  return open !== undefined && pageInfoValues(plan, page).has(open);
}

export function connectionObject(entity: Entity<object>, plan: ConnectionPlan): ObjectPlan {
  const objects = nodeObjects(plan);
  const fieldPlans = new Map<string, FieldPlan>();
  for (const object of objects)
    for (const plan of object.fieldPlans.values()) fieldPlans.set(`${fieldPlans.size}`, plan);
  const columns = new Set(['id', 'createdAt']);
  for (const object of objects) for (const column of object.columns) columns.add(column);
  return {
    entity,
    columns,
    // The selections have the sizes.
    bytes: () => 0,
    fieldPlans,
    scopes: new Set(objects.flatMap(({ scopes }) => [...scopes])),
    members: [],
  };
}
