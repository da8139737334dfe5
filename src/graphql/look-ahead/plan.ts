import {
  type FieldNode,
  type GraphQLField,
  type GraphQLOutputType,
  getNullableType,
  isListType,
} from 'graphql';
import type { Scope } from '../../auth/scopes.ts';
import type { Entity } from '../read/entity.ts';
import type { Edge } from './edge.ts';

/** Takes the reason why the database cannot write a root field; the first counts. */
export type Decline = (reason: string) => undefined;

/** What a selection needs from a row: its columns and edges. */
export interface ObjectPlan {
  readonly entity: Entity<object>;
  /** Properties of the entity. */
  readonly columns: Set<string>;
  /** The maximum size of a property in JSON, in bytes. */
  readonly bytes: (property: string) => number;
  /** By response name. */
  readonly edges: Map<string, EdgePlan>;
  /** The scopes without which columns of the rows are refused. */
  readonly scopes: Set<Scope>;
  /** The members of the response object, in order. */
  readonly members: readonly Member[];
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
export interface EdgeMember {
  readonly name: string;
  readonly kind: 'edge';
  readonly plan: EdgePlan;
}

/** A member of a response object: a column, an edge, or `__typename`. */
export type Member = ColumnMember | EdgeMember | TypenameMember;

/** A member of `data`. */
export type RootMember = EdgeMember | TypenameMember;

export interface EdgePlan {
  readonly edge: Edge;
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

/** The plans of the rows at the other end of an edge: one, or for nodes one per type; none for plain values. */
export const objectsOf = ({ object, types = NONE }: EdgePlan): readonly ObjectPlan[] =>
  object === undefined ? types : [object];

/** Whether a field returns several nodes, in the order of its ids. */
export const isNodeList = ({ field }: Pick<EdgePlan, 'field'>): boolean =>
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

export const PAGE_INFO_FIELDS = ['hasNextPage', 'hasPreviousPage', 'startCursor', 'endCursor'] as const;

export type PageInfoMember =
  | TypenameMember
  | { readonly name: string; readonly kind: (typeof PAGE_INFO_FIELDS)[number] };
