import { complexityFromQuery } from '@pothos/plugin-complexity';
import {
  type DocumentNode,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import { RecentlyUsed } from '../platform/recently-used.ts';
import type { OperationCost } from '../request/request-state.ts';
import { surveyDocument } from './limits/document-statistics.ts';
import {
  checkCost,
  checkDocument,
  checkRootFields,
  maxFields,
  type OperationLimits,
} from './limits/limits.ts';
import { itemsOf, stripSkipped } from './limits/strip-skipped.ts';
import type { PreparedOperation } from './prepared-operation.ts';

type Variables = Readonly<Record<string, unknown>>;

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

/** Root fields, including those in fragments. A pruned document has no fragment cycles. */
function countRootFields({ definitions }: DocumentNode): number {
  const counts = new Map<string, number>();
  const count = ({ selections }: SelectionSetNode): number =>
    selections.reduce((sum, selection) => sum + countOne(selection), 0);
  const countOne = (selection: SelectionNode): number => {
    if (selection.kind === Kind.FIELD) return 1;
    if (selection.kind === Kind.INLINE_FRAGMENT) return count(selection.selectionSet);
    const name = selection.name.value;
    const fragment = definitions.find(
      (node) => node.kind === Kind.FRAGMENT_DEFINITION && node.name.value === name,
    );
    const known =
      counts.get(name) ?? (fragment?.kind === Kind.FRAGMENT_DEFINITION ? count(fragment.selectionSet) : 0);
    counts.set(name, known);
    return known;
  };
  const [root] = definitions;
  return root?.kind === Kind.OPERATION_DEFINITION ? count(root.selectionSet) : 0;
}

export interface OperationLimiter {
  /** The cost of the operation. Throws DEPTH_LIMIT and COMPLEXITY_LIMIT if it is too large to measure. */
  costOf(operation: PreparedOperation, variables: Variables): OperationCost;
  /** Throws DEPTH_LIMIT and COMPLEXITY_LIMIT. */
  check(cost: OperationCost): void;
}

/**
 * Measures every operation of any type, even an invalid one, once before validation and execution. Complexity
 * is what the fields of the schema declare through Pothos' plugin. It is cached with the parsed document and
 * the relevant variables.
 */
export function createOperationLimiter(schema: GraphQLSchema, limits: OperationLimits): OperationLimiter {
  function measure(
    document: DocumentNode,
    operation: OperationDefinitionNode,
    variables: Variables,
  ): OperationCost {
    const pruned = stripSkipped(schema, document, operation, variables);
    checkRootFields(countRootFields(pruned), limits);
    const { complexity, depth } = complexityFromQuery(pruned, { schema, ctx: {}, variables: {} });
    return { complexity, depth };
  }

  return {
    costOf(operation, variables) {
      const { document, node } = operation;
      document.documentStatistics ??= surveyDocument(schema, document.node, maxFields(limits));
      checkDocument(document.documentStatistics, limits);
      const { sizingVariables } = document.documentStatistics;
      const key =
        sizingVariables.length === 0 ? '' : sizingVariables.map((name) => sizing(variables, name)).join();
      operation.costs ??= new RecentlyUsed(MAX_COSTS_PER_OPERATION);
      let cost = operation.costs.get(key);
      if (cost === undefined) {
        cost = measure(document.node, node, variables);
        operation.costs.set(key, cost);
      }
      return cost;
    },
    check: (cost) => checkCost(cost, limits),
  };
}
