import { ApiError } from '../../graphql/errors.ts';

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

export interface DocumentSize {
  readonly aliases: number;
  readonly directives: number;
}

/** Throws COMPLEXITY_LIMIT. */
export function checkSize(
  { aliases, directives }: DocumentSize,
  { maxAliases, maxDirectives }: OperationLimits,
): void {
  if (aliases > maxAliases)
    throw exceeded('COMPLEXITY_LIMIT', 'The number of aliases is', aliases, maxAliases);
  if (directives > maxDirectives)
    throw exceeded('COMPLEXITY_LIMIT', 'The number of directives is', directives, maxDirectives);
}

/** Throws COMPLEXITY_LIMIT. */
export function checkRootFields(rootFields: number, { maxRootFields }: OperationLimits): void {
  if (rootFields > maxRootFields)
    throw exceeded('COMPLEXITY_LIMIT', 'The number of root fields is', rootFields, maxRootFields);
}
