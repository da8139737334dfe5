import {
  createSourceEventStream,
  type ExecutionArgs,
  type ExecutionResult,
  execute,
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
import { clientOf, type HttpPlugin, type OperationContext } from './request-state.ts';
import type { StreamLimit } from './stream-limit.ts';

export interface ExecutionOptions {
  readonly database: Database;
  readonly log: Logger;
  readonly gate: Gate;
  readonly streams: StreamLimit;
  readonly timeoutMs: number;
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
 * So many run at a time, each for so long: what takes longer is answered with TIMEOUT and its statements cancelled.
 */
export function useExecution({
  database,
  log,
  gate,
  streams,
  timeoutMs,
  onCommit,
}: ExecutionOptions): HttpPlugin {
  const refused = (error: unknown, { requestId }: Context): ExecutionResult => ({
    errors: [maskError(error, { requestId, log })],
  });

  const mask = (result: ExecutionResult, { requestId }: Context): ExecutionResult =>
    result.errors === undefined
      ? result
      : { ...result, errors: result.errors.map((error) => maskError(error, { requestId, log })) };

  /** The errors for which the service is to blame: then nothing of a mutation may last. */
  const failures = ({ errors = [] }: ExecutionResult) =>
    errors.filter((error) => publicError(error).status >= 500);

  async function executeQuery(args: ExecutionArgs, cancellation: Cancellation): Promise<ExecutionResult> {
    const context: Context = { ...(args.contextValue as Context), db: database.cancellable(cancellation) };
    return mask(await execute({ ...args, contextValue: context }), context);
  }

  async function executeMutation(
    args: ExecutionArgs,
    operation: OperationDefinitionNode,
    cancellation: Cancellation,
  ): Promise<ExecutionResult> {
    const work = database.unitOfWork({ separable: !hasOneRootField(operation) }, cancellation);
    const context: Context = { ...(args.contextValue as Context), db: work, unitOfWork: work };
    try {
      const result = mask(await execute({ ...args, contextValue: context }), context);
      const errors = failures(result);
      if (errors.length > 0 || cancellation.cancelled) {
        await work.rollback();
        return { errors };
      }
      await work.commit();
      onCommit();
      return result;
    } catch (error) {
      await work.rollback();
      return refused(error, context);
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
        resolve(
          refused(
            new ApiError('TIMEOUT', `The operation took longer than ${timeoutMs} ms and was cancelled.`),
            context,
          ),
        );
      }, timeoutMs);
    });
    try {
      return await Promise.race([run(cancellation), timeout]);
    } finally {
      clearTimeout(timer);
    }
  }

  async function executeOperation(args: ExecutionArgs): Promise<ExecutionResult> {
    const context = args.contextValue as Context;
    const operation = operationOf(args);
    try {
      await gate.enter();
    } catch (error) {
      return refused(error, context);
    }
    const run = async (cancellation: Cancellation): Promise<ExecutionResult> => {
      try {
        return operation?.operation === 'mutation'
          ? await executeMutation(args, operation, cancellation)
          : await executeQuery(args, cancellation);
      } finally {
        gate.leave();
      }
    };
    return timed(context, run);
  }

  async function* eachEvent(
    source: AsyncIterable<unknown>,
    args: ExecutionArgs,
  ): AsyncGenerator<ExecutionResult> {
    for await (const event of source) {
      const context = { ...(args.contextValue as OperationContext) };
      yield await timed(context, (cancellation) =>
        executeQuery({ ...args, rootValue: event, contextValue: context }, cancellation),
      );
    }
  }

  async function subscribe(args: ExecutionArgs): Promise<ExecutionResult | AsyncIterable<ExecutionResult>> {
    const context = args.contextValue as OperationContext;
    const { state } = context;
    let close: () => void;
    try {
      close = streams.open(clientOf(state));
    } catch (error) {
      return refused(error, context);
    }
    const source = await createSourceEventStream(args);
    if (!isAsyncIterable(source)) {
      close();
      return mask(source, context);
    }
    state.stop.signal.addEventListener('abort', close, { once: true });
    return eachEvent(source, args);
  }

  return {
    onExecute({ setExecuteFn }) {
      setExecuteFn(executeOperation);
    },
    onSubscribe({ setSubscribeFn }) {
      setSubscribeFn(subscribe);
    },
  };
}
