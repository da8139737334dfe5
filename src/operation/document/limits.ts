import { GraphQLError } from 'graphql';
import { exceeded } from '../../graphql/errors.ts';
import type { Config } from '../../platform/config.ts';
import type { Cost } from './cost-walk.ts';
import type { Survey } from './survey.ts';
import type { TextFigures } from './text-figures.ts';

/** Limits checked before an operation runs (contract section 5). */
export type OperationLimits = Config['operationLimits'];

/** Throws DEPTH_LIMIT, COMPLEXITY_LIMIT. */
export function checkCost(
  { complexity, depth, rootFields }: Cost,
  { maxComplexity, maxDepth, maxRootFields }: OperationLimits,
): void {
  if (rootFields > maxRootFields)
    throw exceeded('COMPLEXITY_LIMIT', 'Root field count', rootFields, maxRootFields);
  if (depth > maxDepth) throw exceeded('DEPTH_LIMIT', 'Depth', depth, maxDepth);
  if (complexity > maxComplexity) throw exceeded('COMPLEXITY_LIMIT', 'Complexity', complexity, maxComplexity);
}

/** The depth that graphql-js' MaxIntrospectionDepthRule allows. */
const MAX_INTROSPECTION_DEPTH = 2;

/**
 * Limit on the fields of a document with its fragments expanded. Only nested fragments expand far beyond the
 * token count.
 */
export function maxFields({ maxTokens }: OperationLimits): number {
  return 2 * maxTokens;
}

/** Contract section 5. Responses and errors repeat names, up to once per row. */
const MAX_NAME_LENGTH = 100;

/**
 * Limit on nested brackets in the text. Braces come from depth, but also from arguments, inline fragments and
 * introspection, which do not count as depth. Checked before parsing: unwinding the recursion of the parser
 * costs as much as parsing.
 */
function maxNesting({ maxDepth }: OperationLimits): number {
  return 4 * maxDepth + 20;
}

/** Checks a text before parsing. Throws GRAPHQL_PARSE_FAILED, DEPTH_LIMIT, COMPLEXITY_LIMIT. */
export function checkText(figures: TextFigures, limits: OperationLimits): void {
  const { tokens, aliases, directives, longestName, nesting } = figures;
  const { maxTokens, maxAliases, maxDirectives } = limits;
  if (tokens > maxTokens)
    throw exceeded('GRAPHQL_PARSE_FAILED', 'A token count of at least', tokens, maxTokens);
  if (longestName > MAX_NAME_LENGTH)
    throw exceeded('COMPLEXITY_LIMIT', 'Name length', longestName, MAX_NAME_LENGTH);
  if (aliases > maxAliases) throw exceeded('COMPLEXITY_LIMIT', 'Alias count', aliases, maxAliases);
  if (directives > maxDirectives)
    throw exceeded('COMPLEXITY_LIMIT', 'Directive count', directives, maxDirectives);
  if (nesting > maxNesting(limits))
    throw exceeded('DEPTH_LIMIT', 'Bracket nesting depth', nesting, maxNesting(limits));
}

/**
 * Checks a document before validation, which reports a fragment within itself too, but later and at several times the
 * cost. Throws GRAPHQL_VALIDATION_FAILED, DEPTH_LIMIT, COMPLEXITY_LIMIT.
 */
export function checkDocument(survey: Survey, limits: OperationLimits): void {
  const { circle, fields, overlaps, introspectionTooDeep } = survey;
  if (circle !== undefined)
    throw new GraphQLError(`Cannot spread fragment "${circle.name.value}" within itself.`, {
      nodes: [circle],
      extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
    });
  if (fields > maxFields(limits))
    throw exceeded('COMPLEXITY_LIMIT', 'Field count with fragments expanded', fields, maxFields(limits));
  // Within this limit, merging the fields costs about as much as reading the text.
  if (overlaps > limits.maxFieldPairs)
    throw exceeded('COMPLEXITY_LIMIT', 'Repeated-field pair count', overlaps, limits.maxFieldPairs);
  if (introspectionTooDeep)
    throw exceeded(
      'DEPTH_LIMIT',
      'An introspection list depth ("fields", "interfaces", "possibleTypes", "inputFields") of at least',
      MAX_INTROSPECTION_DEPTH + 1,
      MAX_INTROSPECTION_DEPTH,
    );
}
