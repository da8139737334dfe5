import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
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
    interface FieldOptions {
      /** How the field reads what it returns, so that look-ahead can read it together with its parent. */
      edge?: Edge;
      /** The columns that the resolver of a computed field reads. */
      columns?: readonly string[];
      /** The column that the field shows to callers that its scopes let pass. */
      permittedColumn?: string;
    }
  }
}

const ROOTS: ReadonlySet<string> = new Set(['Query', 'Mutation', 'Subscription']);

type Resolver<C extends object> = GraphQLFieldResolver<unknown, C, object>;

/** The field option `edge`: a root field reads its whole selection, a field below returns what was read. */
class LookAheadPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { edge, columns, permittedColumn, maxCharacters } = config.pothosOptions as {
      edge?: Edge;
      columns?: readonly string[];
      permittedColumn?: string;
      maxCharacters?: number;
    };
    for (const column of columns ?? []) noteReader(column, config.name);
    return withOptions(config, { edge, columns, permittedColumn, maxCharacters });
  }

  override wrapResolve(
    resolve: Resolver<Types['Context']>,
    config: PothosOutputFieldConfig<Types>,
  ): Resolver<Types['Context']> {
    const hasEdge = (config.pothosOptions as { edge?: Edge }).edge !== undefined;
    if (ROOTS.has(config.kind)) return inRoundsWhereWide(hasEdge ? readingAhead(resolve) : resolve);
    return hasEdge ? readAlready(resolve) : resolve;
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

SchemaBuilder.registerPlugin('lookAhead', LookAheadPlugin);
