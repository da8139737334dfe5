import SchemaBuilder, {
  type FieldMap,
  type InputFieldMap,
  ObjectFieldBuilder,
  type ObjectRef,
  type SchemaTypes,
} from '@pothos/core';
import type { Scope } from '../../auth/scopes.ts';
import { type Entity, getListRelation, type KeyOfType, type ListOrder } from '../queries/entity.ts';
import { type ConnectionPage, loaderOf } from '../queries/loaders.ts';
import { NODE, nodeFrom } from '../queries/node-type.ts';
import type { Position } from '../queries/pagination.ts';
import type { Types as OwnTypes } from './builder.ts';
import { childConnection, childList, type ListArguments } from './connections.ts';

export type NodeRef<Types extends SchemaTypes, Row extends object> = ObjectRef<Types, string | Row, Row> & {
  readonly entity: Entity<Row>;
};

export type ConnectionRef<Types extends SchemaTypes, Row extends Position> = ObjectRef<
  Types,
  ConnectionPage<Row>
> & {
  readonly entity: Entity<Row>;
};

interface NodeOptions<Types extends SchemaTypes, Row extends object> {
  readonly entity: Entity<Row>;
  /** Without this scope, `node` and `nodes` reject a row. */
  readonly scope: Scope;
  /** The property with the only account that `node` and `nodes` return the row to. */
  readonly owner?: KeyOfType<Row, string>;
  readonly description: string;
  /** All nodes also have the field `id`. */
  readonly fields: (t: PothosSchemaTypes.ObjectFieldBuilder<Types, Row>) => FieldMap;
}

interface RelationOptions {
  readonly description: string;
  readonly scope?: Scope;
}

interface ListOptions<Extra extends InputFieldMap> extends Required<RelationOptions> {
  readonly order: ListOrder;
  readonly narrowed?: ListArguments<Extra>;
  /** True if the parent is an account, and only the account itself can read the list. */
  readonly ownOnly?: boolean;
}

interface PlainListOptions<Extra extends InputFieldMap> extends ListOptions<Extra> {
  /** False if the list has no argument `offset`. */
  readonly offset?: boolean;
}

declare global {
  export namespace PothosSchemaTypes {
    interface SchemaBuilder<Types extends SchemaTypes> {
      /** Defines an object type with its loader; `node` and `nodes` find its rows. */
      node<Row extends Position>(name: string, options: NodeOptions<Types, Row>): NodeRef<Types, Row>;
    }
    interface ObjectFieldBuilder<Types extends SchemaTypes, ParentShape> {
      /** Adds a field for the row whose id is in the property `key` of the parent row. */
      belongsTo<Row extends object>(
        type: NodeRef<Types, Row>,
        key: KeyOfType<ParentShape, string>,
        options: RelationOptions,
      ): FieldRef<Types, unknown, 'Object'>;
      /** Adds a list of the rows that have the id of the parent row in their property `key`. */
      hasMany<Row extends Position, Extra extends InputFieldMap = Record<never, never>>(
        type: NodeRef<Types, Row>,
        key: KeyOfType<Row, string>,
        options: PlainListOptions<Extra>,
      ): FieldRef<Types, unknown>;
      /** Adds a connection of the rows that have the id of the parent row in their property `key`. */
      hasManyConnection<Row extends Position, Extra extends InputFieldMap = Record<never, never>>(
        type: ConnectionRef<Types, Row>,
        key: KeyOfType<Row, string>,
        options: ListOptions<Extra>,
      ): FieldRef<Types, unknown>;
    }
  }
}

type Builder = PothosSchemaTypes.SchemaBuilder<OwnTypes>;
type Fields = PothosSchemaTypes.ObjectFieldBuilder<OwnTypes, { readonly id: string }>;

const builders: Pick<Builder, 'node'> & ThisType<Builder> = {
  node<Row extends Position>(
    name: string,
    { entity, scope, owner, description, fields }: NodeOptions<OwnTypes, Row>,
  ): NodeRef<OwnTypes, Row> {
    const type = this.loadableObjectRef<Row, string, string, Row>(name, {
      load: loaderOf(entity, name),
    }).implement({
      description,
      interfaces: [NODE as never],
      extensions: nodeFrom({ entity, scope, owner }),
      fields,
    });
    return Object.assign(type, { entity });
  },
};

const fieldBuilders: Pick<Fields, 'belongsTo' | 'hasMany' | 'hasManyConnection'> & ThisType<Fields> = {
  belongsTo(type: NodeRef<OwnTypes, object>, key, options) {
    const sql = { kind: 'one', entity: type.entity, key } as const;
    return this.field({ ...options, type, sql, resolve: (parent) => parent[key] });
  },
  hasMany(type, key, { order, ...options }) {
    return childList(this, { ...options, type, list: getListRelation(type.entity, key, order) });
  },
  hasManyConnection(type, key, { order, ...options }) {
    return childConnection(this, { ...options, type, list: getListRelation(type.entity, key, order) });
  },
};

Object.assign(SchemaBuilder.prototype, builders);
Object.assign(ObjectFieldBuilder.prototype, fieldBuilders);
