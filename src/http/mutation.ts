import {
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  type GraphQLError,
  type OperationDefinitionNode,
} from 'graphql';
import type { Context } from '../graphql/context.ts';
import { isOneStatement, runOneStatement } from '../graphql/one-statement.ts';
import type { Cancellation } from '../platform/db/cancellation.ts';
import type { Database } from '../platform/db/database.ts';
import { DatabaseError } from '../platform/db/errors.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import type { Logger } from '../platform/log.ts';
import { admitted } from './admission.ts';
import type { AnswerBounds } from './answer-bounds.ts';
import type { Gate } from './gate.ts';
import { failuresOf, located, maskResult, refusedResult } from './masked-result.ts';
import type { OperationContext } from './request-state.ts';
import { fixedResult } from './result.ts';
import { databaseKindOf, Retries } from './retries.ts';

export interface MutationOptions {
  readonly database: Database;
  readonly log: Logger;
  readonly gate: Gate;
  /** Mutations that open a transaction pass it first: they can wait for each other, and reads must not wait for them. */
  readonly writeGate: Gate;
  /** How long a mutation goes on trying to get its locks. */
  readonly lockWaitMs: number;
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

/** Runs a mutation until it is called off. Undefined where its steps ended it. */
export type MutationExecutor = (
  args: ExecutionArgs,
  operation: OperationDefinitionNode | undefined,
  cancellation: Cancellation,
  steps?: MutationSteps,
) => Promise<ExecutionResult | undefined>;

/** A statement of a mutation waits so long for a lock; then the mutation gives up its connection, and begins anew. */
const LOCK_LIMIT_MS = 300;

/** Runs mutations, each in one unit of work that commits before it is answered. */
export function createMutationExecutor(options: MutationOptions): MutationExecutor {
  const { database, log, gate, writeGate, lockWaitMs, bounds, onCommit } = options;

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
    retries: Retries,
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
      if (raw.errors?.some((error) => retries.allows(databaseKindOf(error)))) {
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
      // Contract section 9: where `data` is null nothing was changed. One statement has its data as text.
      if (result.data == null && !work.committed) {
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

  /** Tries until the database leaves it done. Each try has its place among the others, and pauses have none. */
  return async (args, operation, cancellation, steps) => {
    const oneStatement =
      steps === undefined &&
      operation !== undefined &&
      isOneStatement(args.schema, operation) &&
      bounds.fitsOneStatement(args, operation);
    const gates = oneStatement ? [gate] : [writeGate, gate];
    // With a key it waits on: a key that is let go of for a pause would be a duplicate's, which then waits in its place.
    const limits = steps === undefined ? { lockLimitMs: LOCK_LIMIT_MS } : {};
    const retries = new Retries(lockWaitMs);
    for (;;) {
      const outcome = await admitted(args, log, gates, cancellation, () =>
        attemptMutation(
          args,
          database.unitOfWork({ oneStatement, ...limits }, cancellation),
          cancellation,
          retries,
          steps,
          oneStatement ? operation : undefined,
        ),
      );
      if (outcome !== 'again') return outcome;
      await retries.pause();
    }
  };
}
