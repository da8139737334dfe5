import { GraphQLError, type GraphQLSchema } from 'graphql';
import { SmallMap } from '../../platform/cache.ts';
import type { Config } from '../../platform/config/config.ts';
import { ApiError, exceeded } from '../../platform/errors.ts';
import { isOfCaller } from '../queries/plan/plan-field.ts';
import type { DocumentAnalysis } from './analysis.ts';
import { type Cost, costOf, itemsOf, type SchemaField } from './cost.ts';
import type { PreparedOperation } from './prepared-operation.ts';
import type { OperationVariables } from './variables.ts';

export type OperationLimits = Config['operationLimits'];

/** graphql-js' MaxIntrospectionDepthRule allows this depth. */
const MAX_INTROSPECTION_DEPTH = 2;

/** Only nested fragments expand far beyond the token count. */
export function maxFields({ maxTokens }: OperationLimits): number {
  return 2 * maxTokens;
}

function check(what: string, value: number, maximum: number): void {
  if (value > maximum) throw exceeded('COMPLEXITY_LIMIT', what, value, maximum);
}

/** @throws {ApiError} COMPLEXITY_LIMIT */
export function checkCounts({ aliases, directives }: DocumentAnalysis, limits: OperationLimits): void {
  check('Alias count', aliases, limits.maxAliases);
  check('Directive count', directives, limits.maxDirectives);
}

/**
 * Runs before validation, which takes several times as long.
 * @throws {GraphQLError} GRAPHQL_VALIDATION_FAILED
 * @throws {ApiError} DEPTH_LIMIT or COMPLEXITY_LIMIT
 */
function checkLimits(analysis: DocumentAnalysis, cost: Cost, limits: OperationLimits): void {
  const { cycle } = analysis;
  if (cycle !== undefined)
    throw new GraphQLError(`Cannot spread fragment "${cycle.name.value}" within itself.`, {
      nodes: [cycle],
      extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
    });
  check('Root field count', cost.rootFields, limits.maxRootFields);
  if (cost.depth > limits.maxDepth) throw exceeded('DEPTH_LIMIT', 'Depth', cost.depth, limits.maxDepth);
  if (analysis.introspectionTooDeep)
    throw exceeded(
      'DEPTH_LIMIT',
      'An introspection list depth ("fields", "interfaces", "possibleTypes", "inputFields") of at least',
      MAX_INTROSPECTION_DEPTH + 1,
      MAX_INTROSPECTION_DEPTH,
    );
  const { fields, pairs } = analysis.mergeCost();
  check('Field count with fragments expanded', fields, maxFields(limits));
  check('Repeated-field pair count', pairs, limits.maxFieldPairs);
  check('Complexity', cost.complexity, limits.maxComplexity);
}

/** The cost of an operation varies with the variables that size or skip something. */
const MAX_COSTS_PER_OPERATION = 50;

/**
 * Only an absent variable has its default; null and ill-typed values do not. `hasOwn` is needed because clients choose
 * the names, which may be names in Object.prototype.
 */
function sizing(variables: OperationVariables, name: string): string {
  if (!Object.hasOwn(variables, name)) return '';
  const value = variables[name];
  if (Array.isArray(value)) return `[${itemsOf(value)}]`;
  if (value === null) return 'null';
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : 'none';
}

/** The variables are as sent. */
export interface RequestedOperation {
  readonly operation: PreparedOperation;
  readonly variables: OperationVariables;
}

/** Returns fields at any depth, except skipped fields. */
export type RequestedFields = (requested: RequestedOperation) => readonly SchemaField[];

/**
 * Each operation is measured before validation, even if it is invalid. The operation caches its cost for each
 * combination of the variables that affect the cost.
 */
export function createOperationLimiter(schema: GraphQLSchema, limits: OperationLimits) {
  function measured(operation: PreparedOperation, variables: OperationVariables): Cost {
    const { fragments, costVariables } = operation.document.analysis;
    const key = costVariables.length === 0 ? '' : costVariables.map((name) => sizing(variables, name)).join();
    operation.costs ??= new SmallMap(MAX_COSTS_PER_OPERATION);
    let cost = operation.costs.get(key);
    if (cost === undefined) {
      cost = costOf(schema, fragments, operation.node, variables);
      operation.costs.set(key, cost);
    }
    return cost;
  }

  return {
    costOf: measured,
    /**
     * @throws {GraphQLError} GRAPHQL_VALIDATION_FAILED for a fragment within itself
     * @throws {ApiError} DEPTH_LIMIT or COMPLEXITY_LIMIT
     */
    check: ({ document }: PreparedOperation, cost: Cost): void =>
      checkLimits(document.analysis, cost, limits),
    requestedFields: ({ operation, variables }: RequestedOperation) => measured(operation, variables).fields,
  };
}

/**
 * Many subscribers share the events of a subscription.
 * @throws {ApiError} BAD_USER_INPUT for a field that depends on the caller
 */
export function rejectForCaller(fields: readonly SchemaField[]): void {
  const found = fields.find(isOfCaller);
  if (found !== undefined)
    throw new ApiError(
      'BAD_USER_INPUT',
      `Field "${found.name}" cannot be selected in a subscription. Read it with a query.`,
    );
}
