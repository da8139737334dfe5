import { GraphQLError, Source } from 'graphql';
import { exceeded } from '../../graphql/errors.ts';
import type { OperationCost } from '../../request/request-state.ts';
import type { DocumentStatistics } from './document-statistics.ts';
import { spreadOut } from './fragment-spreads.ts';
import type { TextFigures } from './token-scan.ts';

/** The ceilings that an operation must stay under before any of it runs (contract section 5). */
export interface OperationLimits {
  readonly maxDepth: number;
  readonly maxComplexity: number;
  readonly maxAliases: number;
  readonly maxTokens: number;
  readonly maxRootFields: number;
  readonly maxDirectives: number;
  /** Pairs of fields of one name in one selection, which validation compares with each other. */
  readonly maxFieldPairs: number;
}

function checkDepth(depth: number, maxDepth: number): void {
  if (depth > maxDepth) throw exceeded('DEPTH_LIMIT', 'The operation has a depth of', depth, maxDepth);
}

/** Throws DEPTH_LIMIT, COMPLEXITY_LIMIT. */
export function checkCost(
  { complexity, depth }: OperationCost,
  { maxComplexity, maxDepth }: OperationLimits,
): void {
  checkDepth(depth, maxDepth);
  if (complexity > maxComplexity)
    throw exceeded('COMPLEXITY_LIMIT', 'The operation has a complexity of', complexity, maxComplexity);
}

/** graphql-js' MaxIntrospectionDepthRule stops here. */
const MAX_INTROSPECTION_DEPTH = 2;

/** The fields of a document once its fragments are spread out: far more than its tokens are only fragments in fragments. */
export function maxFields({ maxTokens }: OperationLimits): number {
  return 2 * maxTokens;
}

/** Contract section 5. Names come back in answers and errors, as often as there are rows. */
const MAX_NAME_LENGTH = 100;

/**
 * Brackets inside one another, in a text: depth makes braces, and so do arguments, inline fragments and introspection,
 * which do not count as depth. The parser's recursion is no cheaper to undo than to do.
 */
function maxNesting({ maxDepth }: OperationLimits): number {
  return 4 * maxDepth + 20;
}

/** Merging the fields then costs about what reading the text did. */
function checkOverlaps(overlaps: number, { maxFieldPairs }: OperationLimits): void {
  if (overlaps > maxFieldPairs)
    throw exceeded('COMPLEXITY_LIMIT', 'The number of pairs of repeated fields is', overlaps, maxFieldPairs);
}

/** Validation would say the same, later and at several times the cost. */
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
  // What a directive skips does not count: then the depth is not seen before the document is parsed.
  if (directives === 0) checkDepth(depth, maxDepth);
}

/** Checks a text before it is parsed. Throws GRAPHQL_PARSE_FAILED, DEPTH_LIMIT, COMPLEXITY_LIMIT, GRAPHQL_VALIDATION_FAILED. */
export function checkText(text: string, figures: TextFigures, limits: OperationLimits): void {
  const { tokens, aliases, directives, longestName, nesting, overlaps } = figures;
  const { maxTokens, maxAliases, maxDirectives } = limits;
  if (tokens > maxTokens)
    throw exceeded('GRAPHQL_PARSE_FAILED', 'The number of tokens is at least', tokens, maxTokens);
  if (longestName > MAX_NAME_LENGTH)
    throw exceeded(
      'COMPLEXITY_LIMIT',
      'The number of characters of the longest name is',
      longestName,
      MAX_NAME_LENGTH,
    );
  if (aliases > maxAliases)
    throw exceeded('COMPLEXITY_LIMIT', 'The number of aliases is', aliases, maxAliases);
  if (directives > maxDirectives)
    throw exceeded('COMPLEXITY_LIMIT', 'The number of directives is', directives, maxDirectives);
  if (nesting > maxNesting(limits))
    throw exceeded('DEPTH_LIMIT', 'The document nests brackets to a depth of', nesting, maxNesting(limits));
  checkOverlaps(overlaps, limits);
  checkSpreads(text, figures, limits);
}

/** Checks a document before it is validated. Throws DEPTH_LIMIT, COMPLEXITY_LIMIT. */
export function checkDocument(documentStatistics: DocumentStatistics, limits: OperationLimits): void {
  const { fields, overlaps, introspectionTooDeep } = documentStatistics;
  if (fields > maxFields(limits))
    throw exceeded(
      'COMPLEXITY_LIMIT',
      'The number of fields, with fragments spread out, is',
      fields,
      maxFields(limits),
    );
  checkOverlaps(overlaps, limits);
  if (introspectionTooDeep)
    throw exceeded(
      'DEPTH_LIMIT',
      'Introspection nests lists ("fields", "interfaces", "possibleTypes", "inputFields") to a depth of at least',
      MAX_INTROSPECTION_DEPTH + 1,
      MAX_INTROSPECTION_DEPTH,
    );
}

/** Throws COMPLEXITY_LIMIT. */
export function checkRootFields(rootFields: number, { maxRootFields }: OperationLimits): void {
  if (rootFields > maxRootFields)
    throw exceeded('COMPLEXITY_LIMIT', 'The number of root fields is', rootFields, maxRootFields);
}
