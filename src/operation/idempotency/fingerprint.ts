import { createHmac } from 'node:crypto';
import type { GraphQLError, GraphQLSchema } from 'graphql';
import type { RequestedOperation } from '../operation-cost.ts';
import { coercedVariables, variableErrors } from '../variables.ts';

/**
 * Identifies a mutation by document, operation and variables (contract section 6): those that it declares, coerced. What is
 * not declared has no effect. Sorted by name, as by earlier versions: a retry may cross an upgrade. Returns the errors of
 * variables that do not fit. Keyed by the idempotency key: variables may contain a password, which a plain digest would let a
 * reader of the table guess.
 */
export function fingerprint(
  schema: GraphQLSchema,
  key: string,
  { operation, variables }: RequestedOperation,
): { readonly print: Buffer } | { readonly errors: readonly GraphQLError[] } {
  const errors = variableErrors(schema, operation.node, variables);
  if (errors.length > 0) return { errors };
  const coerced = Object.entries(coercedVariables(schema, operation.node, variables));
  const sorted = Object.fromEntries(coerced.sort(([a], [b]) => (a < b ? -1 : 1)));
  const text = JSON.stringify([operation.document.normalised, operation.name ?? null, sorted]);
  return { print: createHmac('sha256', key).update(text).digest() };
}
