import { initContextCache } from '@pothos/core';
import { execute } from 'graphql';
import { setSessionCookie } from '../../auth/authenticate.ts';
import type { Passwords } from '../../auth/login.ts';
import { authorOf } from '../../auth/principal.ts';
import type { SecurityLog } from '../../auth/security-log.ts';
import type { OpenedSession } from '../../auth/sessions.ts';
import type { Cancellation } from '../../database/cancellation.ts';
import type { Database } from '../../database/database.ts';
import { DatabaseError } from '../../database/errors.ts';
import { RETRY, Retries } from '../../database/retries.ts';
import type { UnitOfWork } from '../../database/unit-of-work.ts';
import { type Cancellable, FairQueue, QueueFullError } from '../../platform/fairness/fair-queue.ts';
import type { Logger } from '../../platform/log/log.ts';
import { type Preparations, runBeforeTransaction } from '../core/before-transaction.ts';
import { type Changes, principalOf } from '../core/context.ts';
import { databaseKindOf } from '../core/mask-error.ts';
import type { OperationRequest } from '../documents/operation-request.ts';
import type { OperationArgs, OperationContext } from '../operation/operation-context.ts';
import { executed, failuresOf, hasNoData, rejected, type SingleResult } from '../operation/outcome.ts';
import type { createResponseBounds } from '../operation/response-bounds.ts';

interface Owner {
  readonly queue: FairQueue;
  waiting: number;
}

/**
 * Queues for mutations that wait for row locks. While one mutation of an owner waits, all mutations of this owner run
 * one after the other. Each try may occupy a transaction slot for 300 ms, so an owner that has locked its own row could
 * fill all slots.
 */
class LockWaiters {
  readonly #owners = new Map<string | undefined, Owner>();
  readonly #maxWaiting: number;

  constructor(maxWaiting: number) {
    this.#maxWaiting = Math.max(1, maxWaiting);
  }

  run<T>(owner: string | undefined, tryOnce: () => Promise<T>, cancellation: Cancellable): Promise<T> {
    const known = this.#owners.get(owner);
    return known === undefined ? tryOnce() : known.queue.run(owner, tryOnce, cancellation);
  }

  /** @returns a function to call once when the mutation no longer waits */
  waits(owner: string | undefined): () => void {
    let known = this.#owners.get(owner);
    if (known === undefined) {
      known = { queue: new FairQueue({ concurrency: 1, maxWaiting: this.#maxWaiting }), waiting: 0 };
      this.#owners.set(owner, known);
    }
    const waiter = known;
    waiter.waiting += 1;
    return () => {
      waiter.waiting -= 1;
      // Mutations in the queue have registered themselves, or continue from there.
      if (waiter.waiting === 0) this.#owners.delete(owner);
    };
  }
}

export interface MutationOptions {
  readonly database: Database;
  readonly log: Logger;
  readonly securityLog: SecurityLog;
  readonly queue: FairQueue;
  /**
   * Mutations that open a transaction first take a slot here, because they may wait for each other, and reads must not
   * wait for them.
   */
  readonly writeQueue: FairQueue;
  readonly lockWaitMs: number;
  readonly maxQueued: number;
  readonly passwords: Passwords;
  readonly bounds: ReturnType<typeof createResponseBounds>;
  readonly onCommit: () => void;
}

export interface MutationSteps {
  /** Runs before anything is written. If false, the mutation is not executed. */
  before(work: UnitOfWork): Promise<boolean>;
  /**
   * Runs after execution, before the commit.
   * @returns the outcome for the response
   */
  after(work: UnitOfWork, outcome: SingleResult): Promise<SingleResult>;
  /**
   * Runs instead of `after` if there is no data and the writes are rolled back.
   * @returns undefined if the mutation counts as not run
   */
  onRollback(outcome: SingleResult): Promise<SingleResult | undefined>;
}

/** An error after the commit undoes nothing, so the client gets an error with unknown outcome. */
export function afterCommit(work: UnitOfWork, error: unknown): unknown {
  return work.committed ? new DatabaseError('unknown', error) : error;
}

/** Runs each mutation in one transaction that commits before the response. */
export function createMutationExecutor(options: MutationOptions) {
  const { database, log, securityLog, queue, writeQueue, lockWaitMs, passwords, bounds, onCommit } = options;
  const masking = ({ requestId }: OperationContext) => ({ requestId, log });
  const waiters = new LockWaiters(options.maxQueued);
  /** Caches results by request, because a mutation whose key is locked is tried repeatedly. */
  const preparations = new WeakMap<OperationRequest, Promise<Preparations>>();

  /** Returns undefined if the steps stopped the mutation, and RETRY if the database aborted the mutation. */
  async function tryOnce(
    args: OperationArgs,
    work: UnitOfWork,
    cancellation: Cancellation,
    retries: Retries,
    steps?: MutationSteps,
  ): Promise<SingleResult | undefined | typeof RETRY> {
    let opened: OpenedSession | undefined;
    const changes: Changes = { fields: [], ids: [] };
    const { contextValue: context } = args;
    const { caller, sender, effects } = context;
    Object.assign(context, {
      // Rows that an earlier try has loaded may have changed.
      ...initContextCache(),
      db: work,
      unitOfWork: work,
      changes,
      onPasswordChanged(session: OpenedSession) {
        opened = session;
        const { id: credentialId, expiresAt } = session;
        context.caller = { ...principalOf(context), credentialId, expiresAtMs: expiresAt.getTime() };
      },
    });
    sender.work.changes = { fields: changes.fields };
    try {
      if (steps !== undefined && !(await steps.before(work))) {
        await work.rollback();
        return undefined;
      }
      const result = await execute(args);
      if (result.errors?.some((error) => retries.allows(databaseKindOf(error)))) {
        await work.rollback();
        return RETRY;
      }
      const outcome = executed(result, masking(context));
      bounds.checked(outcome, context, sender.reservation);
      const failures = failuresOf(outcome);
      // The mutation cannot be cancelled any more, because the response reports what was committed.
      if (failures.length > 0 || !cancellation.close()) {
        await work.rollback();
        return { kind: 'rejected', errors: failures };
      }
      // Nothing is changed if `data` is null (contract: mutations).
      if (hasNoData(outcome)) {
        await work.rollback();
        return steps === undefined ? outcome : await steps.onRollback(outcome);
      }
      const finalOutcome = steps === undefined ? outcome : await steps.after(work, outcome);
      await work.commit();
      onCommit();
      sender.work.changes = changes;
      if (opened !== undefined) {
        effects.headers['set-cookie'] = setSessionCookie(opened.sessionId);
        securityLog.passwordChanged(sender, principalOf(context).userId);
      }
      return finalOutcome;
    } catch (error) {
      await work.rollback();
      const reason = afterCommit(work, error);
      // The client can retry immediately, because the Idempotency-Key prevents a second execution.
      if (steps !== undefined && reason instanceof DatabaseError && reason.kind === 'unknown')
        effects.headers['retry-after'] = '1';
      return rejected(reason, masking(context));
    } finally {
      if (!work.committed) context.caller = caller;
    }
  }

  return async (
    args: OperationArgs,
    cancellation: Cancellation,
    steps?: MutationSteps,
  ): Promise<SingleResult | undefined> => {
    const { contextValue } = args;
    const { operation, caller, sender, requestId } = contextValue;
    const author = authorOf(caller, requestId);
    const retries = new Retries(lockWaitMs);
    const preparing = {
      caller,
      db: database.cancellable(cancellation),
      passwords,
      onWrongPassword: () => securityLog.failedLogin(sender, 'wrong_password', cancellation.owner),
    };
    const preparation =
      preparations.get(sender) ??
      runBeforeTransaction(args, operation.node, operation.plans.fragments, preparing);
    preparations.set(sender, preparation);
    contextValue.prepared = await preparation;
    const run = () =>
      tryOnce(args, database.unitOfWork({ author }, cancellation), cancellation, retries, steps);
    const { owner } = cancellation;
    const withSlot = () => queue.run(owner, run, cancellation);
    const withWriteSlot = () => writeQueue.run(owner, withSlot, cancellation);
    let waitsNoMore: (() => void) | undefined;
    try {
      // Each try takes separate slots, so that pauses occupy none.
      return await retries.run(async () => {
        if (cancellation.cancelled) throw new QueueFullError('cancelled');
        const tried = await waiters.run(owner, withWriteSlot, cancellation);
        if (tried === RETRY) waitsNoMore ??= waiters.waits(owner);
        return tried;
      });
    } finally {
      waitsNoMore?.();
    }
  };
}
