import type { FieldNode, GraphQLField, GraphQLOutputType } from 'graphql';
import type { Scope } from '../../auth/scopes.ts';
import type { JsonCodec } from '../read/column.ts';
import type { Entity } from '../read/entity.ts';
import type { Edge } from './edge.ts';

/** `ahead`: rows for resolvers, by property. `whole`: the response itself, by response name. */
export type JsonForm = 'ahead' | 'whole';

/**
 * The caller's permissions in the form `ahead`. Resolvers refuse what a scope is missing for, so it is not read: its
 * size would be counted, and told to a caller who may not read it.
 */
export interface Permissions {
  /** The scopes that the caller lacks. */
  readonly lacked: ReadonlySet<Scope>;
  /** Receives every scope that the plan depends on. */
  readonly needed: Set<Scope>;
}

/** Takes the reason why the database cannot write a whole response; the first counts. */
export type Decline = (reason: string) => undefined;

/** What a selection needs from a row: its columns and edges. */
export interface ObjectPlan {
  readonly entity: Entity<object>;
  /** Properties of the entity. */
  readonly columns: Set<string>;
  /** The codecs of the columns that have one. */
  readonly codecs: Map<string, JsonCodec>;
  /** The maximum size of a property in JSON, in bytes. */
  readonly bytes: (property: string) => number;
  /** By response name. */
  readonly edges: Map<string, EdgePlan>;
  /** The scopes without which columns of the rows are refused. */
  readonly scopes: Set<Scope>;
  /** The members of the response object, in order; undefined if the database cannot write all of them. */
  members: Member[] | undefined;
  /** The type's name, for rows of a field with an abstract type: `__typename` tells them apart. */
  readonly typename?: string | undefined;
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

interface EdgeMember {
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
  /** Of a connection, in the form `whole`. */
  readonly connection?: ConnectionPlan | undefined;
}

const NONE: readonly ObjectPlan[] = [];

/** The plans of the rows at the other end of an edge: one, or for nodes one per type; none for plain values. */
export const objectsOf = ({ object, types = NONE }: EdgePlan): readonly ObjectPlan[] =>
  object === undefined ? types : [object];

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
