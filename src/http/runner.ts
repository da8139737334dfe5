import {
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  type GraphQLError,
  Kind,
  type OperationDefinitionNode,
} from 'graphql';
import type { Context } from '../graphql/context.ts';
import { ApiError } from '../graphql/errors.ts';
import { maskError, publicError } from '../graphql/mask-error.ts';
import { Cancellation } from '../platform/db/cancellation.ts';
import type { Database } from '../platform/db/database.ts';
import type { Logger } from '../platform/log.ts';
import type { Gate } from './gate.ts';

export interface RunnerOptions {
  readonly database: Database;
  readonly log: Logger;
  readonly gate: Gate;
  readonly timeoutMs: number;
  /** Called after every commit. */
  readonly onCommit: () => void;
}

/** Runs operations. Nothing of it throws: whatever goes wrong is in the result, masked. */
export interface Runner {
  /** A query on the pool, or a mutation in one unit of work that commits before it is answered. */
  run(args: ExecutionArgs): Promise<ExecutionResult>;
  /** The selection of a subscription on one event, with a context of its own: what loaders cache must not outlive it. */
  runEvent(args: ExecutionArgs, event: unknown): Promise<ExecutionResult>;
}

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
 * So many operations run at a time, each for so long: what takes longer is answered with TIMEOUT, its statements are
 * cancelled and its writes undone.
 */
export function createRunner({ database, log, gate, timeoutMs, onCommit }: RunnerOptions): Runner {
  async function executeQuery(args: ExecutionArgs, cancellation: Cancellation): Promise<ExecutionResult> {
    const context: Context = { ...(args.contextValue as Context), db: database.cancellable(cancellation) };
    return maskResult(await execute({ ...args, contextValue: context }), context, log);
  }

  async function executeMutation(
    args: ExecutionArgs,
    operation: OperationDefinitionNode,
    cancellation: Cancellation,
  ): Promise<ExecutionResult> {
    const work = database.unitOfWork({ separable: !hasOneRootField(operation) }, cancellation);
    const context: Context = { ...(args.contextValue as Context), db: work, unitOfWork: work };
    try {
      const result = maskResult(await execute({ ...args, contextValue: context }), context, log);
      const failures = failuresOf(result);
      if (failures.length > 0 || cancellation.cancelled) {
        await work.rollback();
        return { errors: failures };
      }
      await work.commit();
      onCommit();
      return result;
    } catch (error) {
      await work.rollback();
      return refusedResult(error, context, log);
    }
  }

  /** Runs within the time of an operation. What is still under way then goes on until it notices, unheard. */
  async function timed(
    context: Context,
    run: (cancellation: Cancellation) => Promise<ExecutionResult>,
  ): Promise<ExecutionResult> {
    const cancellation = new Cancellation();
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<ExecutionResult>((resolve) => {
      timer = setTimeout(() => {
        cancellation.cancel();
        const error = new ApiError(
          'TIMEOUT',
          `The operation took longer than ${timeoutMs} ms and was cancelled.`,
        );
        resolve(refusedResult(error, context, log));
      }, timeoutMs);
    });
    try {
      return await Promise.race([run(cancellation), timeout]);
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    async run(args) {
      const context = args.contextValue as Context;
      const operation = operationOf(args);
      try {
        await gate.enter();
      } catch (error) {
        return refusedResult(error, context, log);
      }
      return timed(context, async (cancellation) => {
        try {
          return operation?.operation === 'mutation'
            ? await executeMutation(args, operation, cancellation)
            : await executeQuery(args, cancellation);
        } finally {
          gate.leave();
        }
      });
    },
    runEvent(args, event) {
      const context = args.contextValue as Context;
      return timed(context, (cancellation) => executeQuery({ ...args, rootValue: event }, cancellation));
    },
  };
}
