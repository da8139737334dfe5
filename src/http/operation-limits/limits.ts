import { ApiError } from '../../graphql/errors.ts';
import type { Survey } from './survey.ts';

/** The ceilings that an operation must stay under before any of it runs (contract section 5). */
export interface OperationLimits {
  readonly maxDepth: number;
  readonly maxComplexity: number;
  readonly maxAliases: number;
  readonly maxTokens: number;
  readonly maxRootFields: number;
  readonly maxDirectives: number;
}

/** What an operation would cost at most. */
export interface OperationCost {
  readonly complexity: number;
  readonly depth: number;
}

function exceeded(
  code: 'DEPTH_LIMIT' | 'COMPLEXITY_LIMIT',
  what: string,
  value: number,
  maximum: number,
): ApiError {
  return new ApiError(code, `${what} ${value}, more than the ${maximum} that are taken.`, {
    details: { value, maximum },
  });
}

/** Throws DEPTH_LIMIT, COMPLEXITY_LIMIT. */
export function checkCost(
  { complexity, depth }: OperationCost,
  { maxComplexity, maxDepth }: OperationLimits,
): void {
  if (depth > maxDepth) throw exceeded('DEPTH_LIMIT', 'The operation has a depth of', depth, maxDepth);
  if (complexity > maxComplexity)
    throw exceeded('COMPLEXITY_LIMIT', 'The operation has a complexity of', complexity, maxComplexity);
}

/** graphql-js' MaxIntrospectionDepthRule stops here. */
const MAX_INTROSPECTION_DEPTH = 2;

/** The fields of a document once its fragments are spread out: far more than its tokens are only fragments in fragments. */
export function maxFields({ maxTokens }: OperationLimits): number {
  return 2 * maxTokens;
}

/** Throws DEPTH_LIMIT, COMPLEXITY_LIMIT, GRAPHQL_VALIDATION_FAILED. */
export function checkDocument(survey: Survey, limits: OperationLimits): void {
  const { aliases, directives, fields, overlaps, circle, introspectionTooDeep } = survey;
  const { maxAliases, maxDirectives, maxTokens } = limits;
  if (circle !== undefined) throw circle;
  if (aliases > maxAliases)
    throw exceeded('COMPLEXITY_LIMIT', 'The number of aliases is', aliases, maxAliases);
  if (directives > maxDirectives)
    throw exceeded('COMPLEXITY_LIMIT', 'The number of directives is', directives, maxDirectives);
  if (fields > maxFields(limits))
    throw exceeded(
      'COMPLEXITY_LIMIT',
      'The number of fields, fragments spread out, is',
      fields,
      maxFields(limits),
    );
  // Merging them then costs no more than reading the text did.
  if (overlaps > maxTokens)
    throw exceeded('COMPLEXITY_LIMIT', 'The number of pairs of repeated fields is', overlaps, maxTokens);
  if (introspectionTooDeep)
    throw exceeded(
      'DEPTH_LIMIT',
      'Introspection nests "fields", "interfaces", "possibleTypes" or "inputFields" to a depth of at least',
      MAX_INTROSPECTION_DEPTH + 1,
      MAX_INTROSPECTION_DEPTH,
    );
}

/** Throws COMPLEXITY_LIMIT. */
export function checkRootFields(rootFields: number, { maxRootFields }: OperationLimits): void {
  if (rootFields > maxRootFields)
    throw exceeded('COMPLEXITY_LIMIT', 'The number of root fields is', rootFields, maxRootFields);
}
