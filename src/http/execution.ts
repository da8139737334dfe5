import {
  createSourceEventStream,
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  Kind,
  type OperationDefinitionNode,
} from 'graphql';
import type { Context } from '../graphql/context.ts';
import { maskError, publicError } from '../graphql/mask-error.ts';
import type { Database } from '../platform/db/database.ts';
import type { Logger } from '../platform/log.ts';
import type { HttpPlugin, OperationContext } from './request-state.ts';

export interface ExecutionOptions {
  readonly database: Database;
  readonly log: Logger;
  /** Called after every commit. */
  readonly onCommit: () => void;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/** Whether the operation writes once at most, so that undoing a failed field is undoing everything. */
function hasOneRootField({ selectionSet: { selections } }: OperationDefinitionNode): boolean {
  return selections.length === 1 && selections[0]?.kind === Kind.FIELD;
}

function operationOf({ document, operationName }: ExecutionArgs): OperationDefinitionNode | undefined {
  return document.definitions.find(
    (node): node is OperationDefinitionNode =>
      node.kind === Kind.OPERATION_DEFINITION &&
      (operationName == null || node.name?.value === operationName),
  );
}

/**
 * Runs operations: a query on the pool, a mutation in one unit of work that commits before it is answered, a
 * subscription anew for each event with a context of its own, since what loaders cache must not outlive an event.
 */
export function useExecution({ database, log, onCommit }: ExecutionOptions): HttpPlugin {
  const mask = (result: ExecutionResult, { requestId }: Context): ExecutionResult =>
    result.errors === undefined
      ? result
      : { ...result, errors: result.errors.map((error) => maskError(error, { requestId, log })) };

  /** Whether the service failed, rather than the caller: then nothing of the mutation may last. */
  const failed = ({ errors = [] }: ExecutionResult) =>
    errors.some((error) => publicError(error).status >= 500);

  async function executeMutation(
    args: ExecutionArgs,
    operation: OperationDefinitionNode,
  ): Promise<ExecutionResult> {
    const work = database.unitOfWork({ separable: !hasOneRootField(operation) });
    const context: Context = { ...(args.contextValue as Context), db: work, unitOfWork: work };
    try {
      const result = mask(await execute({ ...args, contextValue: context }), context);
      if (failed(result)) {
        await work.rollback();
        return { errors: (result.errors ?? []).filter((error) => publicError(error).status >= 500) };
      }
      await work.commit();
      onCommit();
      return result;
    } catch (error) {
      await work.rollback();
      return { errors: [maskError(error, { requestId: context.requestId, log })] };
    }
  }

  async function* eachEvent(
    source: AsyncIterable<unknown>,
    args: ExecutionArgs,
  ): AsyncGenerator<ExecutionResult> {
    for await (const event of source) {
      const context = { ...(args.contextValue as OperationContext) };
      yield mask(await execute({ ...args, rootValue: event, contextValue: context }), context);
    }
  }

  return {
    onExecute({ setExecuteFn }) {
      setExecuteFn(async (args: ExecutionArgs) => {
        const operation = operationOf(args);
        if (operation?.operation === 'mutation') return executeMutation(args, operation);
        return mask(await execute(args), args.contextValue as Context);
      });
    },
    onSubscribe({ setSubscribeFn }) {
      setSubscribeFn(async (args: ExecutionArgs) => {
        const source = await createSourceEventStream(args);
        return isAsyncIterable(source) ? eachEvent(source, args) : mask(source, args.contextValue as Context);
      });
    },
  };
}
