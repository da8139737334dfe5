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

/** Takes the reason why the database cannot write a root field; the first counts. */
export type RecordFallback = (reason: string) => undefined;

/** What a selection needs from a row: its columns, and its fields with a mapping. */
export interface ObjectPlan {
  readonly entity: Entity<object>;
  /** Properties of the entity. */
  readonly columns: Set<string>;
  /** The maximum size of a property in JSON, in bytes. */
  readonly bytes: (property: string) => number;
  /** By response name. */
  readonly fieldPlans: Map<string, FieldPlan>;
  /** The scopes without which columns of the rows are rejected. */
  readonly scopes: Set<Scope>;
  /** The members of the response object, in order. */
  readonly members: readonly PlannedField[];
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

/** Members with the same computed value share a plan, so that the value is computed once. */
export interface MappedMember {
  readonly name: string;
  readonly kind: 'mapped';
  readonly plan: FieldPlan;
}

/** A member of a response object: a column, a field, or `__typename`. */
export type PlannedField = ColumnMember | MappedMember | TypenameMember;

/** A member of `data`. */
export type RootMember = MappedMember | TypenameMember;

export interface FieldPlan {
  readonly mapping: SqlMapping;
  readonly field: GraphQLField<unknown, unknown>;
  readonly node: FieldNode;
  /** The maximum size of plain values in JSON. */
  readonly maxBytes: number;
  /** What to read from the rows at the other end; undefined for plain values and for nodes. */
  readonly object: ObjectPlan | undefined;
  /** Of nodes: the same for each type that they can have. */
  readonly types?: readonly ObjectPlan[];
  /** Of a connection. */
  readonly connection?: ConnectionPlan | undefined;
}

const NONE: readonly ObjectPlan[] = [];

/** The plans of the rows at the other end of a field: one, or for nodes one per type; none for plain values. */
export const objectsOf = ({ object, types = NONE }: FieldPlan): readonly ObjectPlan[] =>
  object === undefined ? types : [object];

/** Whether a field returns several nodes, in the order of its ids. */
export const isNodeList = ({ field }: Pick<FieldPlan, 'field'>): boolean =>
  isListType(getNullableType(field.type));

/** A connection as the response shows it. Each selection of its nodes has a plan of its own. */
export interface ConnectionPlan {
  /** In the order of the response. */
  readonly members: readonly ConnectionMember[];
}

export type ConnectionMember =
  | TypenameMember
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

/** Plans a selection of the nodes; undefined if the database cannot write it. */
type PlanNode = (type: GraphQLObjectType, sets: readonly SelectionSetNode[]) => ObjectPlan | undefined;

/** An object type and what is selected of it. */
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

/** The members of an object, in order; undefined if one of them is unknown. */
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

/** The plan of a connection; undefined if the database cannot write all that is selected of it. */
export function planConnectionMembers(
  info: Info,
  type: GraphQLObjectType,
  sets: readonly SelectionSetNode[],
  planNode: PlanNode,
): ConnectionPlan | undefined {
  const members = planMembers<ConnectionMember>(info, { type, sets }, (name, field, fieldNodes) => {
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

/** A value of `pageInfo`, which the rows tell. */
export type PageInfoValue = Exclude<PageInfoMember['kind'], 'typename'>;

/** The values of `pageInfo` that a connection selects and that depend on its rows. Each is read once, under whatever aliases. */
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

/** The most of them that a page can have. */
export const countPageInfoValues = (plan: ConnectionPlan): number =>
  Math.max(...WAYS.map((page) => pageInfoValues(plan, page).size));

/** How often the rows of a connection are read for the response. The last cursor also needs their number. */
export function readersOf(plan: ConnectionPlan, page: PageRange): number {
  const values = pageInfoValues(plan, page);
  const lists = plan.members.filter(({ kind }) => kind === 'nodes' || kind === 'edges');
  return lists.length + values.size + (values.has('endCursor') ? 1 : 0);
}

/** The selections of the nodes of a connection, in the order of the response. */
export function nodeObjects({ members }: ConnectionPlan): ObjectPlan[] {
  return members.flatMap((member) => {
    if (member.kind === 'nodes') return [member.object];
    if (member.kind !== 'edges') return [];
    return member.members.flatMap((inner) => (inner.kind === 'node' ? [inner.object] : []));
  });
}

/** Whether a connection shows if the list goes on at the open end of the page: one more row tells. */
export function showsMore(plan: ConnectionPlan, page: PageRange): boolean {
  const open = openEnd(page);
  return open !== undefined && pageInfoValues(plan, page).has(open);
}

/** What the rows of a connection are read for: all selections of its nodes, and its cursors. */
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
    // Sizes are those of the selections.
    bytes: () => 0,
    fieldPlans,
    scopes: new Set(objects.flatMap(({ scopes }) => [...scopes])),
    members: [],
  };
}
