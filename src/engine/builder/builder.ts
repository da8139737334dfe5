import '../queries/look-ahead-plugin.ts';
import '../core/mutation-plugin.ts';
import '../core/permissions.ts';
import SchemaBuilder, { BasePlugin, type SchemaTypes } from '@pothos/core';
import ComplexityPlugin from '@pothos/plugin-complexity';
import DataloaderPlugin from '@pothos/plugin-dataloader';
import {
  __Directive,
  __DirectiveLocation,
  __Schema,
  DirectiveLocation,
  GraphQLDeprecatedDirective,
  type GraphQLEnumValue,
  GraphQLError,
  type GraphQLFieldResolver,
  type ValueNode,
  valueFromASTUntyped,
} from 'graphql';
import { OperatorError } from '../../platform/errors.ts';
import type { Context } from '../core/context.ts';
import { DEFAULT_LIMIT } from '../queries/pagination.ts';

/** Leap seconds are rejected, because a Date cannot represent them. */
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

const MINUTE_MS = 60_000;
/** RFC 3339 has years of four digits, but an offset may lead beyond them. */
const FIRST_MS = Date.parse('0000-01-01T00:00:00.000Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

const at = (node: ValueNode | undefined) => ({ nodes: node ?? null });

/**
 * Truncates an RFC 3339 date-time to milliseconds.
 * @param node the location of the error in the document
 * @throws {GraphQLError} as scalars must
 */
export function parseDateTime(value: unknown, node?: ValueNode): Date {
  const match = typeof value === 'string' ? DATE_TIME.exec(value) : null;
  if (match === null)
    throw new GraphQLError(
      'DateTime must be an RFC 3339 date-time such as "2026-11-21T09:30:00Z".',
      at(node),
    );
  const [given, day, time, digits = '', sign, hours = '0', minutes = '0'] = match;
  const text = `${day}T${time}.${digits.slice(0, 3).padEnd(3, '0')}Z`;
  const date = new Date(text);
  // A Date moves days and hours that do not exist to the next month or day.
  const exists = !Number.isNaN(date.getTime()) && date.toISOString() === text;
  if (!exists || Number(hours) > 23 || Number(minutes) > 59)
    throw new GraphQLError(`DateTime "${given}" does not exist.`, at(node));
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
  const timeMs = date.getTime() - (sign === '-' ? -offsetMs : offsetMs);
  if (timeMs < FIRST_MS || timeMs > LAST_MS)
    throw new GraphQLError(`DateTime "${given}" is not in the years 0 to 9999 in UTC.`, at(node));
  return new Date(timeMs);
}

/** graphql-js leaves it to the scalar to add the location of a literal to the error. */
const parseDateTimeLiteral = (node: ValueNode): Date => parseDateTime(valueFromASTUntyped(node), node);

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      rejections: RejectionPlugin<Types>;
    }
  }
}

/**
 * If an item of a list throws, graphql-js drops the promises of earlier items. A later rejection of such a promise
 * would be unhandled, and the process would exit. So exceptions become rejections.
 */
class RejectionPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    return (parent, args, context, info) => {
      try {
        return resolve(parent, args, context, info);
      } catch (error) {
        return Promise.reject(error);
      }
    };
  }
}

SchemaBuilder.registerPlugin('rejections', RejectionPlugin);

/** These Pothos plugins wrap no resolver, or the paths without resolvers repeat their work. */
const ON_EVERY_PATH: ReadonlySet<string> = new Set([
  'rejections',
  'scopes',
  'mutations',
  'lookAhead',
  DataloaderPlugin,
  ComplexityPlugin,
]);

/** Resolvers do not run if the database writes the response or a mutation is a single statement. */
export function rejectUnknownPlugins(names: readonly string[]): void {
  const unknown = names.find((name) => !ON_EVERY_PATH.has(name));
  if (unknown === undefined) return;
  throw new OperatorError(
    `The plugin "${unknown}" of Pothos may wrap resolvers, and most requests run none. Write a rule for fields as a plugin of the service with the stage "mutationField" or "admit" (docs/contributing/yoga-plugins.md). If the plugin wraps no resolver, add its name to ON_EVERY_PATH in src/engine/builder/builder.ts.`,
  );
}

export interface BuilderTypes {
  Context: Context;
  DefaultFieldNullability: false;
  Scalars: {
    DateTime: { Input: Date; Output: Date };
    ID: { Input: string; Output: string };
  };
}

/**
 * The first plugin is the outermost wrapper of a resolver. First exceptions become rejections, then the scope is
 * checked, and a mutation clears the loader caches. Look-ahead then checks the rows that a resolver reads, and keys are
 * loaded last. Resolvers do not run if the database writes the response or a mutation is a single statement. The paths without
 * resolvers therefore repeat the work of each plugin that wraps resolvers.
 */
export function createBuilder() {
  const builder = new SchemaBuilder<BuilderTypes>({
    plugins: ['rejections', 'scopes', 'mutations', 'lookAhead', DataloaderPlugin, ComplexityPlugin],
    defaultFieldNullability: false,
    complexity: { defaultComplexity: 1, defaultListMultiplier: DEFAULT_LIMIT },
  });

  rejectUnknownPlugins(builder.options.plugins ?? []);

  builder.scalarType('DateTime', {
    description:
      'A date and time in RFC 3339 format, such as `2026-11-21T09:30:00.000Z`. Output is in UTC with milliseconds. Input can have any offset, and digits beyond milliseconds are truncated.',
    specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339',
    coerceOutputValue: (value) => value.toISOString(),
    coerceInputValue: (value) => parseDateTime(value),
    coerceInputLiteral: parseDateTimeLiteral,
  });

  builder.queryType({
    description:
      'Operations that read. They need credentials, unless the service allows anonymous requests for all selected fields. Each field names the scope that it needs.',
  });
  builder.mutationType({
    description:
      'Operations that write. The fields of an operation run in order in one database transaction, and an error in a field rolls back all of them. If `data` is null, nothing was changed.',
  });
  builder.subscriptionType({ description: 'Events in real time, over Server-Sent Events.' });
  return builder;
}

export type Types = PothosSchemaTypes.ExtendDefaultTypes<BuilderTypes>;
export type Builder = ReturnType<typeof createBuilder>;

/** graphql-js 17 has experimental locations that are not in the GraphQL specification of September 2025. */
const EXPERIMENTAL = new Set<DirectiveLocation>([
  DirectiveLocation.FRAGMENT_VARIABLE_DEFINITION,
  DirectiveLocation.DIRECTIVE_DEFINITION,
]);

const isSpecified = (location: DirectiveLocation): boolean => !EXPERIMENTAL.has(location);

/**
 * graphql-core up to 3.2.10 rejects a schema with an unknown directive location. graphql-js has no option for its
 * experiments, and all schemas of a process share these objects.
 */
export function removeIntrospectionExperiments(): void {
  GraphQLDeprecatedDirective.locations = GraphQLDeprecatedDirective.locations.filter(isSpecified);
  const values = __DirectiveLocation.getValues() as GraphQLEnumValue[];
  values.splice(0, values.length, ...values.filter(({ value }) => isSpecified(value)));
  const { directives } = __Schema.getFields();
  if (directives !== undefined) directives.args = [];
  const fields = __Directive.getFields();
  delete fields.isDeprecated;
  delete fields.deprecationReason;
}
