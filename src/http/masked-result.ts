import {
  type ExecutionResult,
  type GraphQLError,
  Kind,
  locatedError,
  type OperationDefinitionNode,
} from 'graphql';
import type { Context } from '../graphql/context.ts';
import { maskError, publicError } from '../graphql/mask-error.ts';
import type { Logger } from '../platform/log.ts';

/** The result of an operation that was refused, or failed as a whole. */
export function refusedResult(error: unknown, { requestId }: Context, log: Logger): ExecutionResult {
  return { errors: [maskError(error, { requestId, log })] };
}

export function maskResult(result: ExecutionResult, { requestId }: Context, log: Logger): ExecutionResult {
  if (result.errors === undefined) return result;
  return { ...result, errors: result.errors.map((error) => maskError(error, { requestId, log })) };
}

/** The errors of a masked result for which the service is to blame, not the caller. */
export function failuresOf({ errors = [] }: ExecutionResult): GraphQLError[] {
  return errors.filter((error) => publicError(error).status >= 500);
}

/** An error of a whole answer, told of its first root field. */
export function located(error: unknown, operation: OperationDefinitionNode | undefined): unknown {
  const [field] = operation?.selectionSet.selections ?? [];
  if (field?.kind !== Kind.FIELD) return error;
  return locatedError(error, field, [field.alias?.value ?? field.name.value]);
}
