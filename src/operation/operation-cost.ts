import { complexityFromQuery } from '@pothos/plugin-complexity';
import {
  type DocumentNode,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import type { OperationCost } from '../request/request-state.ts';
import { surveyDocument } from './limits/document-statistics.ts';
import {
  checkCost,
  checkDocument,
  checkRootFields,
  maxFields,
  type OperationLimits,
} from './limits/limits.ts';
import { stripSkipped } from './limits/strip-skipped.ts';
import type { PreparedOperation } from './prepared-operation.ts';

type Variables = Readonly<Record<string, unknown>>;

/** Costs of one operation that differ by the variables which size or skip something. */
const MAX_COSTS_PER_OPERATION = 50;

/**
 * A variable's part in the key of a cost. An absent one has its default, which null and what does not fit have not.
 * Clients name variables: one that is absent may be called what every object has a member of.
 */
function sizing(variables: Variables, name: string): string {
  if (!Object.hasOwn(variables, name)) return '';
  const value = variables[name];
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : 'none';
}

/** The fields at the root, those in fragments included. Fragments of a pruned document form no circle. */
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
  /** The cost of the operation. Throws DEPTH_LIMIT and COMPLEXITY_LIMIT for what is too large to be measured. */
  costOf(operation: PreparedOperation, variables: Variables): OperationCost;
  /** Throws DEPTH_LIMIT and COMPLEXITY_LIMIT. */
  check(cost: OperationCost): void;
}

/**
 * Measures an operation once before it is validated and run, whatever its type, an invalid one as well. Complexity is what the schema's fields
 * declare with Pothos' plugin; the figure is kept with the parsed document and the variables that matter.
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
      operation.costs ??= new LRUCache({ max: MAX_COSTS_PER_OPERATION });
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
