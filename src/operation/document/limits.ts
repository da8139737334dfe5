import { GraphQLError } from 'graphql';
import { exceeded } from '../../graphql/errors.ts';
import type { Config } from '../../platform/config.ts';
import type { Cost } from './cost-walk.ts';
import type { Survey } from './survey.ts';

/** Limits checked before an operation runs (contract section 5). */
export type OperationLimits = Config['operationLimits'];

/** The depth that graphql-js' MaxIntrospectionDepthRule allows. */
const MAX_INTROSPECTION_DEPTH = 2;

/**
 * Limit on the fields of a document with its fragments expanded. Only nested fragments expand far beyond the
 * token count.
 */
export function maxFields({ maxTokens }: OperationLimits): number {
  return 2 * maxTokens;
}

/** Throws COMPLEXITY_LIMIT. */
function check(what: string, value: number, maximum: number): void {
  if (value > maximum) throw exceeded('COMPLEXITY_LIMIT', what, value, maximum);
}

/** @throws {ApiError} COMPLEXITY_LIMIT. */
export function checkCounts({ aliases, directives }: Survey, limits: OperationLimits): void {
  check('Alias count', aliases, limits.maxAliases);
  check('Directive count', directives, limits.maxDirectives);
}

/**
 * Checks an operation and the document that it is in, before validation: that takes several times as long. Throws
 * GRAPHQL_VALIDATION_FAILED, DEPTH_LIMIT, COMPLEXITY_LIMIT.
 */
export function checkLimits(survey: Survey, cost: Cost, limits: OperationLimits): void {
  const { circle } = survey;
  if (circle !== undefined)
    throw new GraphQLError(`Cannot spread fragment "${circle.name.value}" within itself.`, {
      nodes: [circle],
      extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
    });
  check('Root field count', cost.rootFields, limits.maxRootFields);
  if (cost.depth > limits.maxDepth) throw exceeded('DEPTH_LIMIT', 'Depth', cost.depth, limits.maxDepth);
  if (survey.introspectionTooDeep)
    throw exceeded(
      'DEPTH_LIMIT',
      'An introspection list depth ("fields", "interfaces", "possibleTypes", "inputFields") of at least',
      MAX_INTROSPECTION_DEPTH + 1,
      MAX_INTROSPECTION_DEPTH,
    );
  const { fields, pairs } = survey.merged();
  check('Field count with fragments expanded', fields, maxFields(limits));
  check('Repeated-field pair count', pairs, limits.maxFieldPairs);
  check('Complexity', cost.complexity, limits.maxComplexity);
}
