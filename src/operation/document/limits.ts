import { GraphQLError, Source } from 'graphql';
import { exceeded } from '../../graphql/errors.ts';
import type { Config } from '../../platform/config.ts';
import type { Cost } from './cost-walk.ts';
import { spreadOut } from './fragment-spreads.ts';
import type { Survey } from './survey.ts';
import type { TextFigures } from './token-scan.ts';

/** Limits checked before an operation runs (contract section 5). */
export type OperationLimits = Config['operationLimits'];

function checkDepth(depth: number, maxDepth: number): void {
  if (depth > maxDepth) throw exceeded('DEPTH_LIMIT', 'Depth', depth, maxDepth);
}

/** Throws DEPTH_LIMIT, COMPLEXITY_LIMIT. */
export function checkCost(
  { complexity, depth, rootFields }: Cost,
  { maxComplexity, maxDepth, maxRootFields }: OperationLimits,
): void {
  if (rootFields > maxRootFields)
    throw exceeded('COMPLEXITY_LIMIT', 'Root field count', rootFields, maxRootFields);
  checkDepth(depth, maxDepth);
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

/** Within this limit, merging the fields costs about as much as reading the text. */
function checkOverlaps(overlaps: number, { maxFieldPairs }: OperationLimits): void {
  if (overlaps > maxFieldPairs)
    throw exceeded('COMPLEXITY_LIMIT', 'Repeated-field pair count', overlaps, maxFieldPairs);
}

/** Validation reports the same, but later and at several times the cost. */
function checkSpreads(
  text: string,
  { outlines, directives }: TextFigures,
  { maxDepth }: OperationLimits,
): void {
  const { circle, depth } = spreadOut(outlines);
  if (circle !== undefined)
    throw new GraphQLError(`Cannot spread fragment "${circle.name}" within itself.`, {
      source: new Source(text),
      positions: [circle.at],
      extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
    });
  // Skipped fields do not count as depth, so with directives the depth is only known after parsing.
  if (directives === 0) checkDepth(depth, maxDepth);
}

/**
 * Checks a text before parsing. Throws GRAPHQL_PARSE_FAILED, DEPTH_LIMIT, COMPLEXITY_LIMIT,
 * GRAPHQL_VALIDATION_FAILED.
 */
export function checkText(text: string, figures: TextFigures, limits: OperationLimits): void {
  const { tokens, aliases, directives, longestName, nesting, overlaps } = figures;
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
  checkOverlaps(overlaps, limits);
  checkSpreads(text, figures, limits);
}

/** Checks a document before validation. Throws DEPTH_LIMIT, COMPLEXITY_LIMIT. */
export function checkDocument(survey: Survey, limits: OperationLimits): void {
  const { fields, overlaps, introspectionTooDeep } = survey;
  if (fields > maxFields(limits))
    throw exceeded('COMPLEXITY_LIMIT', 'Field count with fragments expanded', fields, maxFields(limits));
  checkOverlaps(overlaps, limits);
  if (introspectionTooDeep)
    throw exceeded(
      'DEPTH_LIMIT',
      'An introspection list depth ("fields", "interfaces", "possibleTypes", "inputFields") of at least',
      MAX_INTROSPECTION_DEPTH + 1,
      MAX_INTROSPECTION_DEPTH,
    );
}
