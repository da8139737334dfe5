import { execute } from 'graphql';
import type { Passwords } from '../auth/password-check.ts';
import { databaseKindOf } from '../graphql/database-kind.ts';
import { type Preparations, prepareFields } from '../graphql/preparation.ts';
import type { Cancellation } from '../platform/db/cancellation.ts';
import type { Database } from '../platform/db/database.ts';
import { DatabaseError } from '../platform/db/errors.ts';
import { Retries } from '../platform/db/retries.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { type Line, TurnRefusedError } from '../platform/line.ts';
import type { Logger } from '../platform/log.ts';
import type { RequestState } from '../request/request-state.ts';
import { LockWaiters } from './lock-waiters.ts';
import type { OperationArgs, OperationContext } from './operation-context.ts';
import { executed, failuresOf, hasNoData, refused, type Single } from './outcome.ts';
import type { ResponseBounds } from './response-bounds.ts';

export interface MutationOptions {
  readonly database: Database;
  readonly log: Logger;
  /** Every operation takes a place. */
  readonly line: Line;
  /**
   * Mutations that open a transaction take a place here first: they may wait for each other, and reads must
   * not wait for them.
   */
  readonly writeLine: Line;
  /** How long a mutation keeps trying to acquire its locks, and how many of an account may wait for each other. */
  readonly lockWaitMs: number;
  readonly maxQueued: number;
  readonly passwords: Passwords;
  readonly bounds: ResponseBounds;
  /** Called after every commit. */
  readonly onCommit: () => void;
}

/** Extra steps in the transaction of a mutation. */
export interface MutationSteps {
  /** Runs before anything is written. False ends the mutation without executing it. */
  before(work: UnitOfWork): Promise<boolean>;
  /** Runs after execution, before the commit. Returns the outcome to answer with. */
  after(work: UnitOfWork, outcome: Single): Promise<Single>;
  /**
   * Runs instead of `after` if there is no data and the writes are rolled back. Returns the outcome to answer
   * with; undefined if the mutation counts as not run.
   */
  undone(outcome: Single): Promise<Single | undefined>;
}

/** Runs a mutation unless it is cancelled. Undefined if its steps ended it. */
export type MutationExecutor = (
  args: OperationArgs,
  cancellation: Cancellation,
  steps?: MutationSteps,
) => Promise<Single | undefined>;

/** The result of one attempt at a mutation. */
type Attempt =
  | { readonly kind: 'done'; readonly outcome: Single }
  /** Its steps ended it. */
  | { readonly kind: 'ended' }
  /** The database aborted it in favour of another transaction; nothing was written. */
  | { readonly kind: 'again' };

const done = (outcome: Single): Attempt => ({ kind: 'done', outcome });
const ended: Attempt = { kind: 'ended' };
const again: Attempt = { kind: 'again' };

/** What an error means: whatever fails after the commit leaves the client without the outcome, and undoes nothing. */
export function afterCommit(work: UnitOfWork, error: unknown): unknown {
  return work.committed ? new DatabaseError('unknown', error) : error;
}

/** Runs mutations, each in one transaction that commits before the response. */
export function createMutationExecutor(options: MutationOptions): MutationExecutor {
  const { database, log, line, writeLine, lockWaitMs, passwords, bounds, onCommit } = options;
  const masking = ({ requestId }: OperationContext) => ({ requestId, log });
  const waiters = new LockWaiters(options.maxQueued);
  /** What the fields of a request prepared: a mutation whose key is taken is tried again and again. */
  const preparations = new WeakMap<RequestState, Promise<Preparations>>();

  /** Executes the fields. 'again' if a database error is worth a retry. */
  async function executeFields(args: OperationArgs, retries: Retries): Promise<Single | 'again'> {
    const result = await execute(args);
    if (result.errors?.some((error) => retries.allows(databaseKindOf(error)))) return 'again';
    return executed(result, masking(args.contextValue));
  }

  async function attempt(
    given: OperationArgs,
    work: UnitOfWork,
    cancellation: Cancellation,
    retries: Retries,
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
      const outcome = await executeFields(args, retries);
      if (outcome === 'again') {
        await work.rollback();
        return again;
      }
      bounds.checked(outcome, state, state.reservation);
      const failures = failuresOf(outcome);
      // From here on it cannot be cancelled: the response tells what was committed.
      if (failures.length > 0 || !cancellation.close()) {
        await work.rollback();
        return done({ kind: 'refused', errors: failures });
      }
      // Contract section 9: if `data` is null, nothing was changed.
      if (hasNoData(outcome)) {
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
      const reason = afterCommit(work, error);
      // With an Idempotency-Key the client can retry at once, whatever the outcome was.
      if (steps !== undefined && reason instanceof DatabaseError && reason.kind === 'unknown')
        state.responseHeaders['retry-after'] = '1';
      return done(refused(reason, masking(context)));
    }
  }

  /** Tries for as long as the database aborts it and retries are left. Pauses take no place in line. */
  async function outcomeOf(
    tryInTurn: () => Promise<Attempt>,
    retries: Retries,
    cancellation: Cancellation,
  ): Promise<Single | undefined> {
    let waitsNoMore: (() => void) | undefined;
    try {
      for (;;) {
        const tried = await tryInTurn();
        if (tried.kind === 'done') return tried.outcome;
        if (tried.kind === 'ended') return undefined;
        waitsNoMore ??= waiters.waits(cancellation.owner);
        await retries.pause();
        if (cancellation.cancelled) throw new TurnRefusedError('cancelled');
      }
    } finally {
      waitsNoMore?.();
    }
  }

  return async (given, cancellation, steps) => {
    const { operation, caller, state } = given.contextValue;
    const retries = new Retries(lockWaitMs);
    const preparing = { caller, db: database.cancellable(cancellation), passwords };
    const preparation =
      preparations.get(state) ?? prepareFields(given, operation.node, operation.plans.fragments, preparing);
    preparations.set(state, preparation);
    const args = { ...given, contextValue: { ...given.contextValue, prepared: await preparation } };
    const tryOnce = () => attempt(args, database.unitOfWork({}, cancellation), cancellation, retries, steps);
    const { owner } = cancellation;
    const inTurn = () => line.run(owner, tryOnce, cancellation);
    const asWriter = () => writeLine.run(owner, inTurn, cancellation);
    return outcomeOf(() => waiters.run(owner, asWriter, cancellation), retries, cancellation);
  };
}
