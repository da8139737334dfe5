import type { GraphQLSchema } from 'graphql';
import { SmallMap } from '../platform/small-map.ts';
import { type Cost, costOf, itemsOf, type SchemaField } from './document/cost-walk.ts';
import { checkLimits, type OperationLimits } from './document/limits.ts';
import type { PreparedOperation } from './prepared-operation.ts';
import type { Variables } from './variables.ts';

/** The cost of an operation varies with the variables that size or skip something. */
const MAX_COSTS_PER_OPERATION = 50;

/**
 * A variable's part of the cost key. Only an absent variable has its default; null and ill-typed values do
 * not. Clients choose the names, which may be those of members of every object: hence `hasOwn`.
 */
function sizing(variables: Variables, name: string): string {
  if (!Object.hasOwn(variables, name)) return '';
  const value = variables[name];
  if (Array.isArray(value)) return `[${itemsOf(value)}]`;
  if (value === null) return 'null';
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : 'none';
}

/** An operation of a request, with its variables as sent. */
export interface RequestedOperation {
  readonly operation: PreparedOperation;
  readonly variables: Variables;
}

/** The fields that an operation selects, at any depth. What @skip and @include remove does not count. */
export type RequestedFields = (asked: RequestedOperation) => readonly SchemaField[];

/**
 * Measures every operation of any type, even an invalid one, once before validation and execution. The cost is kept
 * with the operation for each combination of the variables that it depends on.
 */
export function createOperationLimiter(schema: GraphQLSchema, limits: OperationLimits) {
  function measured(operation: PreparedOperation, variables: Variables): Cost {
    const { fragments, costVariables } = operation.document.survey;
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
    /** Throws DEPTH_LIMIT, COMPLEXITY_LIMIT, and GRAPHQL_VALIDATION_FAILED for a fragment within itself. */
    check: ({ document }: PreparedOperation, cost: Cost): void => checkLimits(document.survey, cost, limits),
    requestedFields: ({ operation, variables }: RequestedOperation) => measured(operation, variables).fields,
  };
}
