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
import type { Context } from '../context.ts';
import { withOptions } from '../field-options.ts';
import { aheadKey, type Edge } from './edge.ts';
import '../max-json-bytes.ts';
import { isTooWide } from '../operation-plans.ts';
import { noteReader } from '../read/column.ts';
import { readInRounds } from '../read/rounds.ts';
import { readAhead } from './read-ahead.ts';

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
      /** How the field reads what it returns, so that look-ahead can read it together with its parent. */
      edge?: Edge<ParentShape, InputShapeFromFields<Args>>;
      /** The properties of the row that a computed field reads, in its resolver and in its SQL, besides `id`. */
      columns?: readonly (keyof ParentShape & string)[];
    }
  }
}

const ROOTS: ReadonlySet<string> = new Set(['Query', 'Mutation', 'Subscription']);

type Resolver<C extends object> = GraphQLFieldResolver<unknown, C, object>;

/** The field option `edge`: a root field reads its whole selection, a field below returns what was read. */
class LookAheadPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { edge, columns, maxCharacters } = config.pothosOptions as {
      edge?: Edge;
      columns?: readonly string[];
      maxCharacters?: number;
    };
    for (const column of columns ?? []) noteReader(column, config.name);
    return withOptions(config, { edge, columns, maxCharacters });
  }

  override wrapResolve(
    resolve: Resolver<Types['Context']>,
    config: PothosOutputFieldConfig<Types>,
  ): Resolver<Types['Context']> {
    const { edge, columns } = config.pothosOptions as { edge?: Edge; columns?: readonly string[] };
    const hasEdge = edge !== undefined;
    if (ROOTS.has(config.kind)) return inRoundsWhereWide(hasEdge ? readingAhead(resolve) : resolve);
    const own =
      columns === undefined ? resolve : withOnly(columns, `${config.parentType}.${config.name}`, resolve);
    return hasEdge ? readAlready(own) : own;
  }
}

/** Pothos types the context by the builder, which this plugin does not know. */
const ours = (context: object) => context as Context;

/** Operations too wide for one statement are read level by level, with a few statements per level. */
function inRoundsWhereWide<C extends object>(resolve: Resolver<C>): Resolver<C> {
  return (parent, args, context, info) => {
    if (isTooWide(ours(context).plans)) readInRounds(context);
    return resolve(parent, args, context, info);
  };
}

function readingAhead<C extends object>(resolve: Resolver<C>): Resolver<C> {
  return async (parent, args, context, info) => {
    const own = ours(context);
    const ahead = own.lookAhead ? await readAhead(own, info) : undefined;
    own.onPath(ahead === undefined ? 'loaders' : 'look_ahead');
    return ahead === undefined ? resolve(parent, args, context, info) : ahead.value;
  };
}

function readAlready<C extends object>(resolve: Resolver<C>): Resolver<C> {
  return (parent, args, context, info) => {
    const value = (parent as Record<string, unknown>)[aheadKey(info.path.key)];
    return value === undefined ? resolve(parent, args, context, info) : value;
  };
}

/**
 * The resolver gets no property that `columns` leaves out: look-ahead does not read it, so that the resolver would work
 * for some operations only.
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
