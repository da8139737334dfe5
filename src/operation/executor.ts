import { execute } from 'graphql';
import { ApiError } from '../graphql/errors.ts';
import { answerWhole } from '../graphql/look-ahead/answer-whole.ts';
import { Cancellation } from '../platform/db/cancellation.ts';
import { createDeadline } from '../platform/deadline.ts';
import { holderOf } from '../request/caller.ts';
import type { Hold } from '../request/pending-responses.ts';
import type { ConcurrencyLimiter } from './concurrency-limiter.ts';
import { createMutationExecutor, type MutationOptions, type MutationSteps } from './mutation-executor.ts';
import type { OperationArgs, OperationContext } from './operation-context.ts';
import { executed, located, refused, rendered, type Single } from './outcome.ts';
import { withLimiters } from './with-limiters.ts';

export interface ExecutorOptions extends MutationOptions {
  /** Events have their own limiter: a thousand subscribers must not hold up a query. */
  readonly eventLimiter: ConcurrencyLimiter;
  readonly timeoutMs: number;
}

/** Runs operations. Never throws: errors are in the outcome, masked. */
export interface Executor {
  /** Runs a query on the pool, or a mutation in one unit of work that commits before the response. */
  run(args: OperationArgs): Promise<Single>;
  /** Runs a mutation with extra steps. Undefined if `before` ended it or `undone` returned undefined. */
  runMutation(args: OperationArgs, steps: MutationSteps): Promise<Single | undefined>;
  /**
   * Executes the selection of a subscription on one event, in its own context: loader caches must not outlive
   * the event.
   */
  runEvent(args: OperationArgs, event: unknown): Promise<Single>;
}

/**
 * Limits how many operations run at once and for how long. An operation past its timeout is answered with
 * TIMEOUT; its statements are cancelled and its writes rolled back.
 */
export function createExecutor(options: ExecutorOptions): Executor {
  const { database, log, limiter, eventLimiter, timeoutMs, bounds } = options;
  const executeMutation = createMutationExecutor(options);
  const deadline = createDeadline(timeoutMs);
  const masking = ({ requestId }: OperationContext) => ({ requestId, log });

  /** Undefined if the database cannot build the response by itself. */
  async function executeWhole(args: OperationArgs, hold: Hold): Promise<Single | undefined> {
    const { contextValue: context } = args;
    const { node } = context.operation;
    try {
      const data = await answerWhole(args, node, context);
      if (data === undefined) return undefined;
      return bounds.checked(rendered(`{"data":${data}}`), context.state, hold);
    } catch (error) {
      // A refusal belongs to no field.
      const refusal = hold.refusal ?? (error instanceof ApiError ? error : undefined);
      return refused(refusal ?? located(error, node), masking(context));
    }
  }

  async function executeFields(args: OperationArgs, hold: Hold): Promise<Single> {
    const { contextValue: context } = args;
    try {
      bounds.checkIntrospection(args);
      const outcome = executed(await execute(args), masking(context));
      return bounds.checked(outcome, context.state, hold);
    } catch (error) {
      return refused(error, masking(context));
    }
  }

  async function executeQuery(args: OperationArgs, cancellation: Cancellation, hold: Hold): Promise<Single> {
    const { contextValue } = args;
    const own = { ...args, contextValue: { ...contextValue, db: database.cancellable(cancellation) } };
    const mayBeWhole = contextValue.lookAhead && contextValue.state.cost === undefined;
    return (mayBeWhole ? await executeWhole(own, hold) : undefined) ?? executeFields(own, hold);
  }

  /**
   * Runs within the operation timeout and the memory bounds of responses. Work still running at the timeout
   * keeps running until it notices; its outcome is discarded.
   */
  function bounded<T extends Single | undefined>(
    context: OperationContext,
    hold: Hold,
    run: (cancellation: Cancellation) => Promise<T>,
  ): Promise<T | Single> {
    const holder = holderOf(context.state);
    const refuse = (error: unknown) => refused(error, masking(context));
    try {
      hold.begin(holder);
    } catch (error) {
      return Promise.resolve(refuse(error));
    }
    const cancellation = new Cancellation(hold, holder);
    return new Promise<T | Single>((resolve) => {
      const inTime = deadline.set(() => {
        if (!cancellation.cancel() || cancellation.undecided) return;
        hold.abandon();
        const error = new ApiError(
          'TIMEOUT',
          `The operation took longer than ${timeoutMs} ms and was cancelled.`,
        );
        resolve(refuse(error));
      });
      run(cancellation).then(
        (outcome) => {
          inTime();
          resolve(hold.refusal === undefined ? outcome : refuse(hold.refusal));
        },
        (error: unknown) => {
          inTime();
          resolve(refuse(error));
        },
      );
    });
  }

  const mutate = (args: OperationArgs, steps?: MutationSteps) =>
    bounded(args.contextValue, args.contextValue.state.hold, (cancellation) =>
      executeMutation(args, cancellation, steps),
    );

  return {
    async run(args) {
      const { contextValue: context } = args;
      // Without extra steps a mutation always has an outcome.
      if (context.operation.kind === 'mutation')
        return (await mutate(args)) ?? { kind: 'refused', errors: [] };
      const { hold } = context.state;
      return bounded(context, hold, (cancellation) =>
        withLimiters([limiter], cancellation, () => executeQuery(args, cancellation, hold)),
      );
    },
    runMutation: mutate,
    async runEvent(args, event) {
      const { contextValue: context } = args;
      // An event is never refused or late for a long queue: its timeout starts once it has a slot.
      await eventLimiter.enter();
      const hold = bounds.hold();
      try {
        // The stream has ended.
        if (context.state.stop.signal.aborted) return { kind: 'refused', errors: [] };
        return await bounded(context, hold, (cancellation) => {
          const db = database.cancellable(cancellation);
          return executeFields({ ...args, contextValue: { ...context, db }, rootValue: event }, hold);
        });
      } finally {
        hold.release();
        eventLimiter.leave();
      }
    },
  };
}
