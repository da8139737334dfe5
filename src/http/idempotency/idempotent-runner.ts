import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionArgs, ExecutionResult } from 'graphql';
import { isAuthenticated } from '../../auth/principal.ts';
import { ApiError } from '../../graphql/errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Logger } from '../../platform/log.ts';
import type { OperationContext } from '../request-state.ts';
import { type CostCeilings, fixedResult, statusOf, stringifyResult, withCost } from '../result.ts';
import { type Runner, refusedResult } from '../runner.ts';
import { fingerprint } from './fingerprint.ts';
import { parseIdempotencyKey } from './key.ts';
import type { KeyOwner } from './seal.ts';
import { findResponse, type StoredResponse, storeResponse, storeResponseAlone, tryLockKey } from './store.ts';

export interface IdempotencyOptions {
  readonly runner: Runner;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long a response is kept. */
  readonly retentionMs: number;
  readonly limits: CostCeilings;
}

/** A duplicate waits for the first so long (contract section 6). */
const WAIT_LIMIT_MS = 5_000;
/** How often one waiter an instance asks whether another instance has finished. It holds no connection in between. */
const POLL_MS = 50;

interface Attempt {
  /** Undefined where the mutation did not run. */
  readonly result: ExecutionResult | undefined;
  /** What is committed under the key now, as far as is known. */
  readonly stored: StoredResponse | undefined;
}

/**
 * Mutations with an Idempotency-Key: the key, the writes and the response commit together, so that whatever dies
 * whenever, a retry finds all of them or none. Where there is no data nothing was written, and the response is stored
 * by itself: until then it is as if the mutation had never run, and it may run again. Duplicates in this process wait for the first without a connection;
 * between processes an advisory lock decides, taken before anything is written.
 */
export function createIdempotentRunner({
  runner,
  database,
  clock,
  log,
  retentionMs,
  limits,
}: IdempotencyOptions): (args: ExecutionArgs) => Promise<ExecutionResult> {
  /** The mutations that run in this process, by key: what each has stored once it is done. */
  const running = new Map<string, Promise<StoredResponse | undefined>>();

  const since = () => new Date(clock.now() - retentionMs);

  function replay(stored: StoredResponse, print: Buffer, context: OperationContext): ExecutionResult {
    if (!stored.fingerprint.equals(print)) {
      const error = new ApiError(
        'IDEMPOTENCY_KEY_REUSED',
        'This Idempotency-Key was used for another mutation or other variables.',
      );
      return refusedResult(error, context, log);
    }
    context.state.responseHeaders['idempotency-replayed'] = 'true';
    return fixedResult({}, stored);
  }

  function inProgress(context: OperationContext): ExecutionResult {
    const error = new ApiError(
      'IDEMPOTENCY_IN_PROGRESS',
      'The first request with this Idempotency-Key still runs. Try again.',
      { headers: { 'retry-after': '1' } },
    );
    return refusedResult(error, context, log);
  }

  /** One try: the mutation with its response, or the response that was there, or nothing where the key is taken. */
  async function attempt(args: ExecutionArgs, owner: KeyOwner, print: Buffer): Promise<Attempt> {
    let found: StoredResponse | undefined;
    let made: { readonly response: StoredResponse; readonly result: ExecutionResult } | undefined;
    const make = (executed: ExecutionResult) => {
      const answer = withCost(executed, (args.contextValue as OperationContext).state, limits);
      const response = {
        fingerprint: print,
        status: statusOf(answer, 'application/json'),
        body: stringifyResult(answer),
      };
      return { response, result: fixedResult(answer, response) };
    };
    const result = await runner.runMutation(args, {
      async before(work) {
        if (!(await tryLockKey(work, owner))) return false;
        // Whoever had the key until now may have stored a response.
        found = await findResponse(work, owner, since());
        return found === undefined;
      },
      async after(work, executed) {
        made = make(executed);
        await storeResponse(work, owner, made.response, since());
        return made.result;
      },
      async undone(executed) {
        // Without an entry for data nothing was executed: variables that don't fit are refused before that.
        if (executed.data === undefined) return executed;
        made = make(executed);
        // The lock ended with the transaction. Where somebody was faster, the key is theirs.
        return (await storeResponseAlone(database, owner, made.response, since())) ? made.result : undefined;
      },
    });
    // Any other result is of a failure, also of one to commit: nothing is stored then.
    return { result, stored: result !== undefined && result === made?.result ? made.response : found };
  }

  /** Runs the mutation once the key is free everywhere, at most until the deadline. */
  async function runFirst(
    args: ExecutionArgs,
    owner: KeyOwner,
    print: Buffer,
    deadlineMs: number,
  ): Promise<Attempt> {
    for (;;) {
      const tried = await attempt(args, owner, print);
      const taken = tried.result === undefined && tried.stored === undefined;
      if (!taken || performance.now() + POLL_MS > deadlineMs) return tried;
      await delay(POLL_MS);
    }
  }

  /** Waits for the mutation that runs here under the key. False where that took too long. */
  async function waitFor(first: Promise<unknown>, deadlineMs: number): Promise<boolean> {
    const limit = new AbortController();
    const late = delay(Math.max(0, deadlineMs - performance.now()), false, { signal: limit.signal }).catch(
      () => false,
    );
    const done = await Promise.race([first.then(() => true), late]);
    limit.abort();
    return done;
  }

  async function runKeyed(
    args: ExecutionArgs,
    owner: KeyOwner,
    context: OperationContext,
  ): Promise<ExecutionResult> {
    const name = `${owner.userId}/${owner.key}`;
    const print = fingerprint(
      owner.key,
      args.document,
      context.state.operationName,
      context.params.variables,
    );
    const deadlineMs = performance.now() + WAIT_LIMIT_MS;
    for (let first = running.get(name); first !== undefined; first = running.get(name)) {
      if (!(await waitFor(first, deadlineMs))) return inProgress(context);
      const stored = await first;
      if (stored !== undefined) return replay(stored, print, context);
    }
    const { promise, resolve } = Promise.withResolvers<StoredResponse | undefined>();
    running.set(name, promise);
    let stored: StoredResponse | undefined;
    try {
      stored = await findResponse(database, owner, since());
      if (stored !== undefined) return replay(stored, print, context);
      const first = await runFirst(args, owner, print, deadlineMs);
      stored = first.stored;
      if (first.result !== undefined) return first.result;
      return stored === undefined ? inProgress(context) : replay(stored, print, context);
    } finally {
      running.delete(name);
      resolve(stored);
    }
  }

  return async (args) => {
    const context = args.contextValue as OperationContext;
    const header = context.request.headers.get('idempotency-key');
    const { caller } = context;
    if (header === null || context.state.operationKind !== 'mutation') return runner.run(args);
    try {
      const key = parseIdempotencyKey(header);
      // Keys belong to accounts; without one there is nothing that a mutation can do.
      if (!isAuthenticated(caller)) return await runner.run(args);
      return await runKeyed(args, { userId: caller.userId, key }, context);
    } catch (error) {
      return refusedResult(error, context, log);
    }
  };
}
