import SchemaBuilder from '@pothos/core';
import ComplexityPlugin from '@pothos/plugin-complexity';
import DataloaderPlugin from '@pothos/plugin-dataloader';
import type { Context } from './context.ts';
import { parseDateTime, parseDateTimeLiteral } from './date-time.ts';
import { DEFAULT_LIMIT } from './pagination/arguments.ts';
import './look-ahead/plugin.ts';
import './mutation-plugin.ts';
import './rejection-plugin.ts';
import './scope-plugin.ts';

export interface SchemaTypes {
  Context: Context;
  DefaultFieldNullability: false;
  Scalars: {
    DateTime: { Input: Date; Output: Date };
    ID: { Input: string; Output: string };
  };
}

/**
 * The builder of one schema, which the modules add their types to. The first plugin is the outermost wrapper of a
 * resolver: exceptions become rejections, the scope is checked, a mutation clears the loader caches, look-ahead checks what
 * a resolver reads, and only then are keys loaded.
 */
export function createBuilder() {
  const builder = new SchemaBuilder<SchemaTypes>({
    plugins: ['rejections', 'scopes', 'mutations', 'lookAhead', DataloaderPlugin, ComplexityPlugin],
    defaultFieldNullability: false,
    complexity: { defaultComplexity: 1, defaultListMultiplier: DEFAULT_LIMIT },
  });

  builder.scalarType('DateTime', {
    description:
      'An instant in RFC 3339 format, such as `2026-11-21T09:30:00.000Z`. Output is in UTC with milliseconds. Input may have any offset; digits beyond milliseconds are truncated.',
    specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339',
    coerceOutputValue: (value) => value.toISOString(),
    coerceInputValue: (value) => parseDateTime(value),
    coerceInputLiteral: parseDateTimeLiteral,
  });

  builder.queryType({
    description:
      'Reads. An operation needs credentials, unless the service lets anybody read all that it selects. Each field names the scope it needs.',
  });
  builder.mutationType({
    description:
      'Writes. The fields of an operation run in order in one database transaction. If one fails, all are rolled back: when `data` is null, nothing was changed.',
  });
  builder.subscriptionType({ description: 'Events in real time, over Server-Sent Events.' });
  return builder;
}

export type Types = PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>;
export type Builder = ReturnType<typeof createBuilder>;
