import { type ExecutionArgs, type ExecutionResult, execute, type OperationDefinitionNode } from 'graphql';
import type { Context } from '../graphql/context.ts';
import { ApiError } from '../graphql/errors.ts';
import { answerWhole } from '../graphql/look-ahead/answer-whole.ts';
import { Cancellation } from '../platform/db/cancellation.ts';
import { createDeadline } from '../platform/deadline.ts';
import { admitted } from './admission.ts';
import type { Gate } from './gate.ts';
import { located, maskResult, refusedResult } from './masked-result.ts';
import { createMutationExecutor, type MutationOptions, type MutationSteps } from './mutation.ts';
import { operationOf } from './operation.ts';
import type { Hold } from './pending-responses.ts';
import { holderOf, type OperationContext } from './request-state.ts';
import { fixedResult } from './result.ts';

export interface RunnerOptions extends MutationOptions {
  /** Events pass one of their own: a thousand subscribers must not hold up a query. */
  readonly eventGate: Gate;
  readonly timeoutMs: number;
}

/** Runs operations. Nothing of it throws: whatever goes wrong is in the result, masked. */
export interface Runner {
  /** A query on the pool, or a mutation in one unit of work that commits before it is answered. */
  run(args: ExecutionArgs): Promise<ExecutionResult>;
  /** A mutation with more to it. Undefined where `before` ended it, or `undone` gave nothing. */
  runMutation(args: ExecutionArgs, steps: MutationSteps): Promise<ExecutionResult | undefined>;
  /** The selection of a subscription on one event, with a context of its own: what loaders cache must not outlive it. */
  runEvent(args: ExecutionArgs, event: unknown): Promise<ExecutionResult>;
}

/**
 * So many operations run at a time, each for so long: what takes longer is answered with TIMEOUT, its statements are
 * cancelled and its writes undone.
 */
export function createRunner(options: RunnerOptions): Runner {
  const { database, log, gate, eventGate, timeoutMs, bounds } = options;
  const executeMutation = createMutationExecutor(options);
  const deadline = createDeadline(timeoutMs);

  async function executeQuery(
    args: ExecutionArgs,
    cancellation: Cancellation,
    hold: Hold,
    operation?: OperationDefinitionNode,
  ): Promise<ExecutionResult> {
    const given = args.contextValue as OperationContext;
    const context: Context = { ...given, db: database.cancellable(cancellation) };
    try {
      const plain = operation !== undefined && given.lookAhead && given.state.cost === undefined;
      const data = plain ? await answerWhole(args, operation, context) : undefined;
      if (data !== undefined)
        return bounds.checked(fixedResult({}, { status: 200, body: `{"data":${data}}` }), given.state, hold);
    } catch (error) {
      // A refusal is of no field.
      const refusal = hold.refusal ?? (error instanceof ApiError ? error : undefined);
      return refusedResult(refusal ?? located(error, operation), context, log);
    }
    try {
      if (operation !== undefined) bounds.checkIntrospection(args, operation);
      const result = maskResult(await execute({ ...args, contextValue: context }), context, log);
      return bounds.checked(result, given.state, hold);
    } catch (error) {
      return refusedResult(error, context, log);
    }
  }

  /**
   * Runs within the time of an operation, and within what answers may hold. What is still under way when its time is
   * over goes on until it notices, unheard.
   */
  function bounded<T extends ExecutionResult | undefined>(
    context: OperationContext,
    hold: Hold,
    run: (cancellation: Cancellation) => Promise<T>,
  ): Promise<T | ExecutionResult> {
    const holder = holderOf(context.state);
    try {
      hold.begin(holder);
    } catch (error) {
      return Promise.resolve(refusedResult(error, context, log));
    }
    const cancellation = new Cancellation(hold, holder);
    return new Promise<T | ExecutionResult>((resolve, reject) => {
      const inTime = deadline.set(() => {
        if (!cancellation.cancel() || cancellation.undecided) return;
        hold.abandon();
        const error = new ApiError(
          'TIMEOUT',
          `The operation took longer than ${timeoutMs} ms and was cancelled.`,
        );
        resolve(refusedResult(error, context, log));
      });
      run(cancellation).then(
        (result) => {
          inTime();
          resolve(hold.refusal === undefined ? result : refusedResult(hold.refusal, context, log));
        },
        (error: unknown) => {
          inTime();
          reject(error);
        },
      );
    });
  }

  function mutate(
    args: ExecutionArgs,
    operation: OperationDefinitionNode | undefined,
    steps?: MutationSteps,
  ): Promise<ExecutionResult | undefined> {
    const context = args.contextValue as OperationContext;
    return bounded(context, context.state.hold, (cancellation) =>
      executeMutation(args, operation, cancellation, steps),
    );
  }

  return {
    async run(args) {
      const operation = operationOf(args);
      if (operation?.operation === 'mutation') return (await mutate(args, operation)) ?? {};
      const context = args.contextValue as OperationContext;
      const { hold } = context.state;
      return bounded(context, hold, (cancellation) =>
        admitted(args, log, [gate], cancellation, () => executeQuery(args, cancellation, hold, operation)),
      );
    },
    runMutation: (args, steps) => mutate(args, operationOf(args), steps),
    async runEvent(args, event) {
      const context = args.contextValue as OperationContext;
      // However long the line is, nobody is refused or late for it: time counts once there is a place.
      await eventGate.enter();
      const hold = bounds.hold();
      try {
        // Nobody waits for it any more.
        if (context.state.stop.signal.aborted) return {};
        return await bounded(context, hold, (cancellation) =>
          executeQuery({ ...args, rootValue: event }, cancellation, hold),
        );
      } catch (error) {
        return refusedResult(error, context, log);
      } finally {
        hold.release();
        eventGate.leave();
      }
    },
  };
}
