import { setTimeout as delay } from 'node:timers/promises';
import { readsOf } from '../../auth/look-up.ts';
import { isAuthenticated } from '../../auth/principal.ts';
import { maskError } from '../../graphql/mask-error.ts';
import { atMost } from '../../platform/at-most.ts';
import { DatabaseError } from '../../platform/db/errors.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { holderOf } from '../../request/caller.ts';
import type { OperationArgs } from '../operation-context.ts';
import { type Rendered, refused, type Single } from '../outcome.ts';
import { checkedLength } from '../response-bounds.ts';
import { type Attempt, type AttemptOptions, createAttempts, type KeyedMutation } from './attempts.ts';
import { fingerprint } from './fingerprint.ts';
import { readIdempotencyKey } from './key.ts';
import { keyOutcomes } from './key-outcomes.ts';
import type { KeyOwner } from './seal.ts';
import { findResponse, lockName, type StoredResponse } from './store.ts';
import { createStoredBytes } from './stored-bytes.ts';

export interface IdempotencyOptions extends Omit<AttemptOptions, 'storedBytes'> {
  /** What an account may have stored. */
  readonly maxBytes: number;
  readonly metrics: Metrics;
}

/** How long a duplicate waits for the first request (contract section 6). */
const WAIT_LIMIT_MS = 5_000;
/**
 * How often one waiter per instance checks whether another instance has finished. It holds no connection in
 * between.
 */
const POLL_MS = 50;

/**
 * Runs operations, and mutations with an Idempotency-Key once for each key. The key, the writes and the response
 * commit together, so that a retry after any crash finds all of them or none. Without data nothing was written, and the
 * response is stored on its own; until then the mutation counts as not run and may run again. Duplicates within a
 * process wait for the first without a connection. Across processes an advisory lock decides, taken before any write.
 */
export function createIdempotentExecutor(
  options: IdempotencyOptions,
): (args: OperationArgs) => Promise<Single> {
  const { executor, database, log, retentionMs, maxBytes, maxResponseBytes, replayCheck, metrics } = options;
  const outcomes = keyOutcomes(metrics);
  const storedBytes = createStoredBytes({ retentionMs, maxBytes });
  const { attempt, attemptAlone } = createAttempts({ ...options, storedBytes });
  /** The mutations running in this process, by key. Each resolves to what it stored. */
  const running = new Map<string, Promise<StoredResponse | undefined>>();

  /**
   * Replays the stored response. Throws IDEMPOTENCY_KEY_REUSED, and FORBIDDEN if this caller may not receive
   * it.
   */
  function replay(stored: StoredResponse, { print, args, asked }: KeyedMutation, waited = false): Rendered {
    const { caller, state } = args.contextValue;
    if (!stored.fingerprint.equals(print)) throw outcomes.reused();
    replayCheck.require(asked, caller, stored);
    const { reservation } = state;
    reservation.begin(holderOf(state));
    reservation.reserve(checkedLength(stored.body, maxResponseBytes));
    outcomes.add(waited ? 'waited' : 'replayed');
    state.responseHeaders['idempotency-replayed'] = 'true';
    return { kind: 'rendered', status: stored.status, body: stored.body, errors: [] };
  }

  /**
   * The stored response. Its bytes count for the account before they are read. Throws like findResponse, RATE_LIMITED
   * too.
   */
  function find(args: OperationArgs, owner: KeyOwner): Promise<StoredResponse | undefined> {
    const { state } = args.contextValue;
    return findResponse(readsOf(database, holderOf(state)), owner, options, (bytes) => {
      state.reservation.begin(holderOf(state));
      state.reservation.reserve(bytes);
    });
  }

  /** Like `find`, but undefined if the database fails. */
  async function storedBefore(args: OperationArgs, owner: KeyOwner): Promise<StoredResponse | undefined> {
    try {
      return await find(args, owner);
    } catch (error) {
      if (error instanceof DatabaseError) return undefined;
      throw error;
    }
  }

  /** Runs the mutation once no other instance holds the key, at most until the deadline. */
  async function runFirst(keyed: KeyedMutation, deadlineMs: number): Promise<Attempt> {
    for (;;) {
      const tried = await attempt(keyed);
      const taken = tried.outcome === undefined && tried.stored === undefined;
      if (!taken || performance.now() + POLL_MS > deadlineMs) return tried;
      await delay(POLL_MS);
    }
  }

  async function runKeyed(keyed: KeyedMutation): Promise<Single> {
    const { owner } = keyed;
    const name = lockName(owner);
    const deadlineMs = performance.now() + WAIT_LIMIT_MS;
    for (let first = running.get(name); first !== undefined; first = running.get(name)) {
      if (!(await atMost(deadlineMs - performance.now(), first))) throw outcomes.inProgress();
      const stored = await first;
      if (stored !== undefined) return replay(stored, keyed, true);
    }
    const { promise, resolve } = Promise.withResolvers<StoredResponse | undefined>();
    running.set(name, promise);
    let stored: StoredResponse | undefined;
    try {
      if (
        await storedBytes.isFull(owner.userId, readsOf(database, holderOf(keyed.args.contextValue.state)))
      ) {
        stored = await find(keyed.args, owner);
        if (stored === undefined) throw storedBytes.refusal();
        return replay(stored, keyed);
      }
      const alone = await attemptAlone(keyed);
      if (alone.outcome?.kind === 'rendered') {
        stored = alone.stored;
        storedBytes.stored(owner.userId, alone.outcome.body);
        outcomes.add('stored_statement');
        return alone.outcome;
      }
      // Perhaps refused before anybody looked: a busy service, a table that is locked, a lost connection.
      const look = alone.outcome === undefined ? find : storedBefore;
      stored = await look(keyed.args, owner);
      if (stored !== undefined) {
        delete keyed.args.contextValue.state.responseHeaders['retry-after'];
        return replay(stored, keyed);
      }
      if (alone.outcome !== undefined) {
        outcomes.add('not_stored');
        return alone.outcome;
      }
      const first = await runFirst(keyed, deadlineMs);
      stored = first.stored;
      if (first.outcome !== undefined) {
        outcomes.add(stored === undefined ? 'not_stored' : 'stored_transaction');
        return first.outcome;
      }
      if (stored === undefined) throw outcomes.inProgress();
      return replay(stored, keyed);
    } finally {
      running.delete(name);
      resolve(stored);
    }
  }

  async function runOnce(args: OperationArgs): Promise<Single> {
    const { caller, request, requestId, operation } = args.contextValue;
    try {
      const key = readIdempotencyKey(request.headers);
      // Keys belong to accounts, and without an account a mutation can do nothing.
      if (key === undefined || !isAuthenticated(caller)) return await executor.run(args);
      const asked = { operation, variables: args.variableValues ?? {} };
      const owner = { userId: caller.userId, key };
      const found = fingerprint(args.schema, key, asked);
      // Who may not run it neither learns anything from the key nor uses it up.
      if ('print' in found) {
        replayCheck.requireAccess(asked, caller);
        return await runKeyed({ args, owner, print: found.print, asked });
      }
      // What was stored ran with variables that fit. As without a key, these come before permissions.
      if (replayCheck.hasAccess(asked, caller) && (await storedBefore(args, owner)) !== undefined)
        throw outcomes.reused();
      return {
        kind: 'refused',
        errors: found.errors.map((error) => maskError(error, { requestId, log })),
      };
    } catch (error) {
      return refused(error, { requestId, log });
    }
  }

  return (args) => (args.contextValue.operation.kind === 'mutation' ? runOnce(args) : executor.run(args));
}
