import {
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  GraphQLError,
  Kind,
  locatedError,
  type OperationDefinitionNode,
} from 'graphql';
import type { Context } from '../graphql/context.ts';
import { ApiError } from '../graphql/errors.ts';
import { answerWhole } from '../graphql/look-ahead/answer-whole.ts';
import { maskError, publicError } from '../graphql/mask-error.ts';
import { isOneStatement, runOneStatement } from '../graphql/one-statement.ts';
import { Cancellation } from '../platform/db/cancellation.ts';
import type { Database } from '../platform/db/database.ts';
import { DatabaseError } from '../platform/db/errors.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { createDeadline } from '../platform/deadline.ts';
import type { Logger } from '../platform/log.ts';
import type { AnswerBounds } from './answer-bounds.ts';
import type { Gate } from './gate.ts';
import { operationOf } from './operation.ts';
import type { Hold } from './pending-responses.ts';
import { holderOf, type OperationContext } from './request-state.ts';
import { fixedResult } from './result.ts';

export interface RunnerOptions {
  readonly database: Database;
  readonly log: Logger;
  readonly gate: Gate;
  /** Events pass one of their own: a thousand subscribers must not hold up a query. */
  readonly eventGate: Gate;
  readonly timeoutMs: number;
  readonly bounds: AnswerBounds;
  /** Called after every commit. */
  readonly onCommit: () => void;
}

/** What belongs to a mutation besides its fields, in the same transaction. */
export interface MutationSteps {
  /** Before anything is written. False ends it there: nothing is executed. */
  before(work: UnitOfWork): Promise<boolean>;
  /** Once it is executed and about to be committed. Returns the result to answer with. */
  after(work: UnitOfWork, result: ExecutionResult): Promise<ExecutionResult>;
  /**
   * In place of `after` where there is no data, and what was written is undone. Returns the result to answer with;
   * undefined where the mutation is as good as not run.
   */
  undone(result: ExecutionResult): Promise<ExecutionResult | undefined>;
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

/** After so many conflicts in a row the client is told to try again itself. */
const MAX_RETRIES = 4;

/** Whether the database undid the transaction in favour of another one: nothing of it is left. */
function isConflict(error: GraphQLError): boolean {
  let origin: unknown = error;
  while (origin instanceof GraphQLError && origin.originalError != null) origin = origin.originalError;
  return origin instanceof DatabaseError && origin.kind === 'conflict';
}

/** An error of a whole answer, told of its first root field. */
function located(error: unknown, operation: OperationDefinitionNode | undefined): unknown {
  const [field] = operation?.selectionSet.selections ?? [];
  if (field?.kind !== Kind.FIELD) return error;
  return locatedError(error, field, [field.alias?.value ?? field.name.value]);
}

/**
 * So many operations run at a time, each for so long: what takes longer is answered with TIMEOUT, its statements are
 * cancelled and its writes undone.
 */
export function createRunner({
  database,
  log,
  gate,
  eventGate,
  timeoutMs,
  bounds,
  onCommit,
}: RunnerOptions): Runner {
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

  /** The result of a mutation of one statement; undefined where it takes an execution after all. */
  async function executeAlone(
    args: ExecutionArgs,
    operation: OperationDefinitionNode,
    context: Context,
  ): Promise<ExecutionResult | undefined> {
    if ((context as OperationContext).state.cost !== undefined) return undefined;
    try {
      const data = await runOneStatement(args, operation, context);
      return data === undefined ? undefined : fixedResult({}, { status: 200, body: `{"data":${data}}` });
    } catch (error) {
      return { errors: [located(error, operation) as GraphQLError], data: null };
    }
  }

  /** One try at a mutation: undefined where its steps ended it, 'again' where the database gave way to another one. */
  async function attemptMutation(
    args: ExecutionArgs,
    work: UnitOfWork,
    cancellation: Cancellation,
    mayRetry: boolean,
    steps?: MutationSteps,
    oneStatement?: OperationDefinitionNode,
  ): Promise<ExecutionResult | undefined | 'again'> {
    const context: Context = { ...(args.contextValue as Context), db: work, unitOfWork: work };
    const { state } = context as OperationContext;
    try {
      if (steps !== undefined && !(await steps.before(work))) {
        await work.rollback();
        return undefined;
      }
      const raw =
        (oneStatement && (await executeAlone(args, oneStatement, context))) ??
        (await execute({ ...args, contextValue: context }));
      if (mayRetry && raw.errors?.some(isConflict)) {
        await work.rollback();
        return 'again';
      }
      const result = maskResult(raw, context, log);
      // What has committed by itself was known to be small before.
      if (!work.committed) bounds.checked(result, state, state.hold);
      const failures = failuresOf(result);
      // From here on it is too late to call it off: what is answered is what was committed.
      if (failures.length > 0 || !(cancellation.close() || work.committed)) {
        await work.rollback();
        return { errors: failures };
      }
      // Contract section 9: where `data` is null nothing was changed.
      if (result.data == null) {
        await work.rollback();
        return steps === undefined ? result : await steps.undone(result);
      }
      const answer = steps === undefined ? result : await steps.after(work, result);
      await work.commit();
      onCommit();
      return answer;
    } catch (error) {
      await work.rollback();
      // Under its key it can be sent again at once, whatever became of it.
      if (steps !== undefined && error instanceof DatabaseError && error.kind === 'unknown')
        (context as OperationContext).state.responseHeaders['retry-after'] = '1';
      return refusedResult(error, context, log);
    }
  }

  /** Two mutations that lock the same rows in opposite order: the database ends one, and that one is done again. */
  async function executeMutation(
    args: ExecutionArgs,
    operation: OperationDefinitionNode | undefined,
    cancellation: Cancellation,
    steps?: MutationSteps,
  ): Promise<ExecutionResult | undefined> {
    const oneStatement =
      steps === undefined &&
      operation !== undefined &&
      isOneStatement(args.schema, operation) &&
      bounds.fitsOneStatement(args, operation);
    for (let retries = MAX_RETRIES; ; retries -= 1) {
      const work = database.unitOfWork({ oneStatement }, cancellation);
      const outcome = await attemptMutation(
        args,
        work,
        cancellation,
        retries > 0,
        steps,
        oneStatement ? operation : undefined,
      );
      if (outcome !== 'again') return outcome;
    }
  }

  /** Runs within the time of an operation. What is still under way then goes on until it notices, unheard. */
  function timed<T extends ExecutionResult | undefined>(
    context: Context,
    hold: Hold,
    run: (cancellation: Cancellation) => Promise<T>,
  ): Promise<T | ExecutionResult> {
    const cancellation = new Cancellation(hold);
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
      run(cancellation).finally(inTime).then(resolve, reject);
    });
  }

  /** Runs among so many others. Waiting for them is part of its time. */
  async function admitted<T extends ExecutionResult | undefined>(
    { contextValue }: ExecutionArgs,
    run: (cancellation: Cancellation) => Promise<T>,
  ): Promise<T | ExecutionResult> {
    const context = contextValue as OperationContext;
    const { hold } = context.state;
    return timed(context, hold, async (cancellation) => {
      try {
        hold.begin(holderOf(context.state));
        await gate.enter(cancellation);
      } catch (error) {
        return refusedResult(error, context, log);
      }
      const result = await run(cancellation).finally(() => gate.leave());
      return hold.refusal === undefined ? result : refusedResult(hold.refusal, context, log);
    });
  }

  return {
    async run(args) {
      const operation = operationOf(args);
      if (operation?.operation !== 'mutation')
        return admitted(args, (cancellation) =>
          executeQuery(args, cancellation, (args.contextValue as OperationContext).state.hold, operation),
        );
      return (await admitted(args, (cancellation) => executeMutation(args, operation, cancellation))) ?? {};
    },
    runMutation(args, steps) {
      return admitted(args, (cancellation) => executeMutation(args, operationOf(args), cancellation, steps));
    },
    async runEvent(args, event) {
      const context = args.contextValue as OperationContext;
      // However long the line is, nobody is refused or late for it: time counts once there is a place.
      await eventGate.enter();
      const hold = bounds.hold();
      try {
        // Nobody waits for it any more.
        if (context.state.stop.signal.aborted) return {};
        hold.begin(holderOf(context.state));
        return await timed(context, hold, (cancellation) =>
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
