import { setTimeout as delay } from 'node:timers/promises';
import { isAuthenticated } from '../../auth/principal.ts';
import type { Scope } from '../../auth/scopes.ts';
import { ApiError } from '../../graphql/errors.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Logger } from '../../platform/log.ts';
import { holderOf } from '../../request/caller.ts';
import type { Executor } from '../executor.ts';
import type { OperationArgs } from '../operation-context.ts';
import {
  type CostCeilings,
  checkedLength,
  errorsOf,
  type Rendered,
  refused,
  type Single,
  statusOf,
  textOf,
} from '../outcome.ts';
import type { RequestedOperation } from '../requested-fields.ts';
import { fingerprint } from './fingerprint.ts';
import { parseIdempotencyKey } from './key.ts';
import type { ReplayCheck } from './replay-check.ts';
import type { KeyOwner } from './seal.ts';
import {
  type Disclosure,
  findResponse,
  type StoredResponse,
  storeResponse,
  storeResponseAlone,
  tryLockKey,
} from './store.ts';

export interface IdempotencyOptions {
  readonly executor: Executor;
  readonly database: Database;
  readonly log: Logger;
  /** How long a response is kept. */
  readonly retentionMs: number;
  readonly limits: CostCeilings;
  readonly maxResponseBytes: number;
  readonly replayCheck: ReplayCheck;
}

const NOTHING_SHOWN: Disclosure = { sessionId: null, scopes: [] };
/** A duplicate waits for the first so long (contract section 6). */
const WAIT_LIMIT_MS = 5_000;
/** How often one waiter an instance asks whether another instance has finished. It holds no connection in between. */
const POLL_MS = 50;

/** A mutation with a key, and what makes two of them the same. */
interface KeyedMutation {
  readonly args: OperationArgs;
  readonly owner: KeyOwner;
  readonly print: Buffer;
  readonly asked: RequestedOperation;
}

interface Attempt {
  /** Undefined where the mutation did not run. */
  readonly outcome: Single | undefined;
  /** What is committed under the key now, as far as is known. */
  readonly stored: StoredResponse | undefined;
}

/**
 * Mutations with an Idempotency-Key: the key, the writes and the response commit together, so that whatever dies
 * whenever, a retry finds all of them or none. Where there is no data nothing was written, and the response is stored
 * by itself: until then it is as if the mutation had never run, and it may run again. Duplicates in this process wait for the first without a connection;
 * between processes an advisory lock decides, taken before anything is written.
 */
export function createIdempotentExecutor({
  executor,
  database,
  log,
  retentionMs,
  limits,
  maxResponseBytes,
  replayCheck,
}: IdempotencyOptions): (args: OperationArgs) => Promise<Single> {
  /** The mutations that run in this process, by key: what each has stored once it is done. */
  const running = new Map<string, Promise<StoredResponse | undefined>>();

  /** The stored response. Throws IDEMPOTENCY_KEY_REUSED, and FORBIDDEN where it is not for this caller. */
  function replay(stored: StoredResponse, { print, args, asked }: KeyedMutation): Rendered {
    const { caller, state } = args.contextValue;
    if (!stored.fingerprint.equals(print))
      throw new ApiError(
        'IDEMPOTENCY_KEY_REUSED',
        'This Idempotency-Key was used for another mutation or other variables.',
      );
    replayCheck.require(asked, caller, stored);
    const { hold } = state;
    hold.begin(holderOf(state));
    hold.reserve(checkedLength(stored.body, maxResponseBytes));
    state.responseHeaders['idempotency-replayed'] = 'true';
    return { kind: 'rendered', status: stored.status, body: stored.body, errors: [] };
  }

  function inProgress(): ApiError {
    return new ApiError(
      'IDEMPOTENCY_IN_PROGRESS',
      'The first request with this Idempotency-Key still runs. Try again.',
      { headers: { 'retry-after': '1' } },
    );
  }

  /** One try: the mutation with its response, or the response that was there, or nothing where the key is taken. */
  async function attempt({ args, owner, print, asked }: KeyedMutation): Promise<Attempt> {
    const { contextValue: context } = args;
    let found: StoredResponse | undefined;
    let made: { readonly response: StoredResponse; readonly outcome: Rendered } | undefined;
    const notedScopes = new Set<Scope>();
    const make = (executed: Single, disclosure: Disclosure) => {
      const status = statusOf(executed, 'application/json');
      const body = textOf(executed, { cost: context.state.cost, limits });
      const outcome: Rendered = { kind: 'rendered', status, body, errors: errorsOf(executed) };
      return { response: { ...disclosure, fingerprint: print, status, body }, outcome };
    };
    const outcome = await executor.runMutation(
      { ...args, contextValue: { ...context, notedScopes } },
      {
        async before(work) {
          if (!(await tryLockKey(work, owner))) return false;
          // Whoever had the key until now may have stored a response.
          found = await findResponse(work, owner, retentionMs, maxResponseBytes);
          return found === undefined;
        },
        async after(work, executed) {
          made = make(executed, replayCheck.disclosureOf(asked, context.caller, notedScopes));
          await storeResponse(work, owner, made.response, retentionMs);
          return made.outcome;
        },
        async undone(executed) {
          // Without an entry for data nothing was executed: variables that don't fit are refused before that.
          if (executed.kind === 'refused') return executed;
          made = make(executed, NOTHING_SHOWN);
          // The lock ended with the transaction. Where somebody was faster, the key is theirs.
          return (await storeResponseAlone(database, owner, made.response, retentionMs))
            ? made.outcome
            : undefined;
        },
      },
    );
    // Any other result is of a failure, also of one to commit: nothing is stored then.
    return { outcome, stored: outcome !== undefined && outcome === made?.outcome ? made.response : found };
  }

  /** Runs the mutation once the key is free everywhere, at most until the deadline. */
  async function runFirst(keyed: KeyedMutation, deadlineMs: number): Promise<Attempt> {
    for (;;) {
      const tried = await attempt(keyed);
      const taken = tried.outcome === undefined && tried.stored === undefined;
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

  async function runKeyed(keyed: KeyedMutation): Promise<Single> {
    const { owner } = keyed;
    const name = `${owner.userId}/${owner.key}`;
    const deadlineMs = performance.now() + WAIT_LIMIT_MS;
    for (let first = running.get(name); first !== undefined; first = running.get(name)) {
      if (!(await waitFor(first, deadlineMs))) throw inProgress();
      const stored = await first;
      if (stored !== undefined) return replay(stored, keyed);
    }
    const { promise, resolve } = Promise.withResolvers<StoredResponse | undefined>();
    running.set(name, promise);
    let stored: StoredResponse | undefined;
    try {
      stored = await findResponse(database, owner, retentionMs, maxResponseBytes);
      if (stored !== undefined) return replay(stored, keyed);
      const first = await runFirst(keyed, deadlineMs);
      stored = first.stored;
      if (first.outcome !== undefined) return first.outcome;
      if (stored === undefined) throw inProgress();
      return replay(stored, keyed);
    } finally {
      running.delete(name);
      resolve(stored);
    }
  }

  return async (args) => {
    const { caller, request, requestId, operation } = args.contextValue;
    const header = request.headers.get('idempotency-key');
    if (header === null || operation.kind !== 'mutation') return executor.run(args);
    try {
      const key = parseIdempotencyKey(header);
      // Keys belong to accounts; without one there is nothing that a mutation can do.
      if (!isAuthenticated(caller)) return await executor.run(args);
      const variables = args.variableValues ?? {};
      return await runKeyed({
        args,
        owner: { userId: caller.userId, key },
        print: fingerprint(key, operation, args.variableValues ?? undefined),
        asked: { operation, variables },
      });
    } catch (error) {
      return refused(error, { requestId, log });
    }
  };
}
