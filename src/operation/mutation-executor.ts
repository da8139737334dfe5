import { execute } from 'graphql';
import { maskError } from '../graphql/mask-error.ts';
import { isOneStatement, runOneStatement } from '../graphql/one-statement.ts';
import type { Cancellation } from '../platform/db/cancellation.ts';
import type { Database } from '../platform/db/database.ts';
import { DatabaseError } from '../platform/db/errors.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import type { Logger } from '../platform/log.ts';
import type { ConcurrencyLimiter } from './concurrency-limiter.ts';
import type { OperationArgs, OperationContext } from './operation-context.ts';
import { executed, failuresOf, hasNoData, located, refused, rendered, type Single } from './outcome.ts';
import type { ResponseBounds } from './response-bounds.ts';
import { databaseKindOf, Retries } from './retries.ts';
import { withLimiters } from './with-limiters.ts';

export interface MutationOptions {
  readonly database: Database;
  readonly log: Logger;
  readonly limiter: ConcurrencyLimiter;
  /** Mutations that open a transaction pass it first: they can wait for each other, and reads must not wait for them. */
  readonly writeLimiter: ConcurrencyLimiter;
  /** How long a mutation goes on trying to get its locks. */
  readonly lockWaitMs: number;
  readonly bounds: ResponseBounds;
  /** Called after every commit. */
  readonly onCommit: () => void;
}

/** What belongs to a mutation besides its fields, in the same transaction. */
export interface MutationSteps {
  /** Before anything is written. False ends it there: nothing is executed. */
  before(work: UnitOfWork): Promise<boolean>;
  /** Once it is executed and about to be committed. Returns the outcome to answer with. */
  after(work: UnitOfWork, outcome: Single): Promise<Single>;
  /**
   * In place of `after` where there is no data, and what was written is undone. Returns the outcome to answer with;
   * undefined where the mutation is as good as not run.
   */
  undone(outcome: Single): Promise<Single | undefined>;
}

/** Runs a mutation until it is called off. Undefined where its steps ended it. */
export type MutationExecutor = (
  args: OperationArgs,
  cancellation: Cancellation,
  steps?: MutationSteps,
) => Promise<Single | undefined>;

/** What one try at a mutation comes to. */
type Attempt =
  | { readonly kind: 'done'; readonly outcome: Single }
  /** Its steps ended it. */
  | { readonly kind: 'ended' }
  /** The database gave way to another one: nothing of it was done. */
  | { readonly kind: 'again' };

const done = (outcome: Single): Attempt => ({ kind: 'done', outcome });
const ended: Attempt = { kind: 'ended' };
const again: Attempt = { kind: 'again' };

/** A statement of a mutation waits so long for a lock; then the mutation gives up its connection, and begins anew. */
const LOCK_LIMIT_MS = 300;

/** Runs mutations, each in one unit of work that commits before it is answered. */
export function createMutationExecutor(options: MutationOptions): MutationExecutor {
  const { database, log, limiter, writeLimiter, lockWaitMs, bounds, onCommit } = options;
  const masking = ({ requestId }: OperationContext) => ({ requestId, log });

  /** The outcome of the fields, or the first error of the database that is worth another try. */
  async function executeFields(args: OperationArgs, retries: Retries): Promise<Single | 'again'> {
    const result = await execute(args);
    if (result.errors?.some((error) => retries.allows(databaseKindOf(error)))) return 'again';
    return executed(result, masking(args.contextValue));
  }

  /** The same of a mutation of one statement; undefined where it takes an execution after all. */
  async function executeAlone(args: OperationArgs, retries: Retries): Promise<Single | 'again' | undefined> {
    const { contextValue: context } = args;
    const { node } = context.operation;
    if (context.state.cost !== undefined) return undefined;
    try {
      const data = await runOneStatement(args, node, context);
      return data === undefined ? undefined : rendered(`{"data":${data}}`);
    } catch (error) {
      if (retries.allows(databaseKindOf(error))) return 'again';
      const result = { data: null, errors: [maskError(located(error, node), masking(context))] };
      return { kind: 'executed', result };
    }
  }

  async function attempt(
    given: OperationArgs,
    work: UnitOfWork,
    cancellation: Cancellation,
    retries: Retries,
    oneStatement: boolean,
    steps?: MutationSteps,
  ): Promise<Attempt> {
    const context: OperationContext = { ...given.contextValue, db: work, unitOfWork: work };
    const args: OperationArgs = { ...given, contextValue: context };
    const { state } = context;
    try {
      if (steps !== undefined && !(await steps.before(work))) {
        await work.rollback();
        return ended;
      }
      const outcome =
        (oneStatement ? await executeAlone(args, retries) : undefined) ??
        (await executeFields(args, retries));
      if (outcome === 'again') {
        await work.rollback();
        return again;
      }
      // What has committed by itself was known to be small before.
      if (!work.committed) bounds.checked(outcome, state, state.hold);
      const failures = failuresOf(outcome);
      // From here on it is too late to call it off: what is answered is what was committed.
      if (failures.length > 0 || !(cancellation.close() || work.committed)) {
        await work.rollback();
        return done({ kind: 'refused', errors: failures });
      }
      // Contract section 9: where `data` is null nothing was changed.
      if (hasNoData(outcome) && !work.committed) {
        await work.rollback();
        if (steps === undefined) return done(outcome);
        const kept = await steps.undone(outcome);
        return kept === undefined ? ended : done(kept);
      }
      const answer = steps === undefined ? outcome : await steps.after(work, outcome);
      await work.commit();
      onCommit();
      return done(answer);
    } catch (error) {
      await work.rollback();
      // Under its key it can be sent again at once, whatever became of it.
      if (steps !== undefined && error instanceof DatabaseError && error.kind === 'unknown')
        state.responseHeaders['retry-after'] = '1';
      return done(refused(error, masking(context)));
    }
  }

  /** Tries until the database leaves it done. Each try has its place among the others, and pauses have none. */
  return async (args, cancellation, steps) => {
    const { plans, operation } = args.contextValue;
    const oneStatement =
      steps === undefined &&
      isOneStatement(plans, args.schema, operation.node) &&
      bounds.fitsOneStatement(args);
    const limiters = oneStatement ? [limiter] : [writeLimiter, limiter];
    // With a key it waits on: a key that is let go of for a pause would be a duplicate's, which then waits in its place.
    const limits = steps === undefined ? { lockLimitMs: LOCK_LIMIT_MS } : {};
    const retries = new Retries(lockWaitMs);
    for (;;) {
      const tried = await withLimiters(limiters, cancellation, () =>
        attempt(
          args,
          database.unitOfWork({ oneStatement, ...limits }, cancellation),
          cancellation,
          retries,
          oneStatement,
          steps,
        ),
      );
      if (tried.kind === 'done') return tried.outcome;
      if (tried.kind === 'ended') return undefined;
      await retries.pause();
    }
  };
}
