import '../core/field-options.ts';
import SchemaBuilder, {
  BasePlugin,
  type FieldNullability,
  type InputFieldMap,
  type InputShapeFromFields,
  type PothosOutputFieldConfig,
  type SchemaTypes,
  type TypeParam,
} from '@pothos/core';
import type { GraphQLFieldResolver } from 'graphql';
import type { Context } from '../core/context.ts';
import { withOptions } from '../core/field-options.ts';
import { hasTooManyFields } from '../core/selection.ts';
import { noteReader } from './entity.ts';
import { enableLoaderBatches } from './loaders.ts';
import type { SqlMapping } from './sql-mappings.ts';

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      lookAhead: LookAheadPlugin<Types>;
    }
    interface FieldOptions<
      Types extends SchemaTypes = SchemaTypes,
      ParentShape = unknown,
      Type extends TypeParam<Types> = TypeParam<Types>,
      Nullable extends FieldNullability<Type> = FieldNullability<Type>,
      Args extends InputFieldMap = InputFieldMap,
      ResolveShape = unknown,
      ResolveReturnShape = unknown,
    > {
      /** Describes how the field reads its value, so that the database can write the value together with its parent. */
      sql?: SqlMapping<ParentShape, InputShapeFromFields<Args>>;
      /** The properties of the row, besides `id`, that a computed field's resolver and SQL read. */
      columns?: readonly (keyof ParentShape & string)[];
    }
  }
}

const ROOTS: ReadonlySet<string> = new Set(['Query', 'Mutation', 'Subscription']);

type Resolver<C extends object> = GraphQLFieldResolver<unknown, C, object>;

class LookAheadPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { sql, columns, maxCharacters, load, resolve } = config.pothosOptions as {
      sql?: SqlMapping;
      columns?: readonly string[];
      maxCharacters?: number;
      load?: unknown;
      resolve?: unknown;
    };
    for (const column of columns ?? []) noteReader(column, config.name);
    const isOfRow =
      columns !== undefined && load === undefined && !(sql?.kind === 'value' && sql.ofCaller === true);
    return withOptions(config, { sql, columns, maxCharacters, compute: isOfRow ? resolve : undefined });
  }

  override wrapResolve(
    resolve: Resolver<Types['Context']>,
    config: PothosOutputFieldConfig<Types>,
  ): Resolver<Types['Context']> {
    const { sql, columns } = config.pothosOptions as { sql?: SqlMapping; columns?: readonly string[] };
    if (ROOTS.has(config.kind)) return leftToLoaders(resolve, sql !== undefined);
    return columns === undefined
      ? resolve
      : withOnly(columns, `${config.parentType}.${config.name}`, resolve);
  }
}

/** Pothos types the context by the builder, which this plugin does not know. */
const ours = (context: object) => context as Context;

/** Operations with too many nested fields for one statement are read with a few statements for each level. */
function leftToLoaders<C extends object>(resolve: Resolver<C>, hasMapping: boolean): Resolver<C> {
  return (parent, args, context, info) => {
    const { plans, onPath } = ours(context);
    if (hasMapping) onPath('loaders');
    if (hasTooManyFields(plans)) enableLoaderBatches(context);
    return resolve(parent, args, context, info);
  };
}

/**
 * The SQL of the field does not read properties that `columns` leaves out. If the resolver read them, the field would
 * have another value in some operations.
 */
function withOnly<C extends object>(
  columns: readonly string[],
  field: string,
  resolve: Resolver<C>,
): Resolver<C> {
  const declared = new Set<string | symbol>(['id', ...columns]);
  const handler: ProxyHandler<object> = {
    get(row, name) {
      if (declared.has(name)) return Reflect.get(row, name);
      throw new Error(
        `the resolver of ${field} reads "${String(name)}", which its "columns" do not declare: add it to them`,
      );
    },
  };
  return (parent, args, context, info) => resolve(new Proxy(parent as object, handler), args, context, info);
}

SchemaBuilder.registerPlugin('lookAhead', LookAheadPlugin);
