import { chargedTo } from '../../../auth/principal.ts';
import type { Scope } from '../../../auth/scopes.ts';
import type { Database } from '../../../database/database.ts';
import type { Listener } from '../../../database/listener.ts';
import type { Logger } from '../../../platform/log/log.ts';
import type { RequestedOperation } from '../../documents/limits.ts';
import type { OperationArgs } from '../../operation/operation-context.ts';
import {
  type CostCeilings,
  errorsOf,
  isRetriable,
  type RenderedResult,
  type SingleResult,
  serializeResponse,
  statusOf,
} from '../../operation/outcome.ts';
import type { KeyedExecutor } from '../single-statement-executor.ts';
import type { ReplayCheck } from './replay-check.ts';
import {
  type createStoredBytes,
  HOLD_KEY,
  type KeyOwner,
  keyLock,
  lockKey,
  lockName,
  RELEASE_KEY,
  type ReplayPolicy,
  type StoredResponse,
  type StoreOptions,
  storeResponse,
  storeResponseAlone,
} from './response-store.ts';

/** Most mutations take less than 50 ms, and a wait for a row lock ends the transaction after 300 ms. */
const HOLD_AFTER_MS = 50;
const TRIES = 5;

/**
 * Keeps the key of a mutation locked between its transactions. A mutation that waits for a row lock ends its transaction,
 * which releases the lock of its key. After 50 ms, the LISTEN connection of this instance therefore locks the key, too. If
 * that connection breaks, a duplicate at another instance may run, but the primary key lets only one of the two commit.
 * The embedded database has no such connection, and needs none, because one process knows all running mutations.
 */
class KeyLockHolder {
  readonly #listener: Pick<Listener, 'ask'>;
  readonly #log: Logger;
  readonly #name: string;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;
  /** If false, another request may lock the key between two transactions. */
  held = false;

  constructor({ listener, log }: Pick<AttemptOptions, 'listener' | 'log'>, owner: KeyOwner) {
    this.#listener = listener;
    this.#log = log;
    this.#name = lockName(owner);
  }

  /** Must be called while a transaction has the lock of the key. */
  holdDuringWaits(): void {
    if (!this.#ended) this.#timer ??= setTimeout(() => void this.#take(), HOLD_AFTER_MS);
  }

  release(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    if (this.held) void this.#ask(RELEASE_KEY);
    this.held = false;
  }

  /** Never rejects, and resolves to false if the connection is lost. */
  async #ask(sql: string): Promise<boolean> {
    try {
      const rows = await this.#listener.ask<{ done: boolean }>(sql, [this.#name]);
      return rows?.[0]?.done === true;
    } catch (error) {
      this.#log.emit('idempotency.lock_not_held', { err: error });
      return false;
    }
  }

  async #take(): Promise<void> {
    // Another request that checks the lock takes it for a moment, so the first try may fail.
    for (let tries = 0; tries < TRIES && !this.held && !this.#ended; tries += 1)
      this.held = await this.#ask(HOLD_KEY);
    if (this.#ended) this.release();
  }
}

const NOTHING_NOTED: ReadonlySet<Scope> = new Set();
const UNRESTRICTED: ReplayPolicy = { sessionId: null, scopes: [] };

export interface KeyedMutation {
  readonly args: OperationArgs;
  readonly owner: KeyOwner;
  readonly requestFingerprint: Buffer;
  readonly requested: RequestedOperation;
}

export interface Attempt {
  /** Undefined if the mutation did not run. */
  readonly outcome: SingleResult | undefined;
  /** The response that is committed under the key, as far as known. */
  readonly stored: StoredResponse | undefined;
}

export interface AttemptOptions extends StoreOptions {
  readonly executor: KeyedExecutor;
  readonly database: Database;
  /** The session that keeps keys between transactions. */
  readonly listener: Pick<Listener, 'ask'>;
  readonly log: Logger;
  readonly limits: CostCeilings;
  readonly replayCheck: ReplayCheck;
  readonly storedBytes: ReturnType<typeof createStoredBytes>;
}

export function createAttempts(options: AttemptOptions) {
  const { executor, database, limits, replayCheck, storedBytes } = options;

  /**
   * Runs the mutation in a transaction and stores its response.
   * @returns the response stored before, if there is one; no outcome and no response if the key is locked
   */
  async function attempt({ args, owner, requestFingerprint, requested }: KeyedMutation): Promise<Attempt> {
    const { contextValue: context } = args;
    const { caller } = context;
    let found: StoredResponse | undefined;
    let made: { readonly response: StoredResponse; readonly outcome: RenderedResult } | undefined;
    const holder = new KeyLockHolder(options, owner);
    const notedScopes = new Set<Scope>();
    context.notedScopes = notedScopes;
    const make = (executed: SingleResult, policy: ReplayPolicy) => {
      const status = statusOf(executed, 'application/json');
      const body = serializeResponse(executed, { cost: context.shownCost, limits });
      const outcome: RenderedResult = { kind: 'rendered', status, body, errors: errorsOf(executed) };
      return { response: { ...policy, fingerprint: requestFingerprint, status, body }, outcome };
    };
    const run = executor.runMutation(args, {
      async before(work) {
        const key = await lockKey(work, owner, options, holder.held);
        found = key.found;
        if (!key.locked || found !== undefined) return false;
        holder.holdDuringWaits();
        return true;
      },
      async after(work, executed) {
        made = make(executed, replayCheck.getReplayPolicy(requested, caller, notedScopes));
        storedBytes.take(owner.userId, made.response.body);
        await storeResponse(work, owner, made.response, options);
        return made.outcome;
      },
      async onRollback(executed) {
        // The mutation counts as not run, because another attempt may get another response.
        if (executed.kind === 'rejected' || isRetriable(executed)) return executed;
        made = make(executed, UNRESTRICTED);
        storedBytes.take(owner.userId, made.response.body);
        // The lock ended with the transaction, so another request may hold the key now.
        const db = database.owned(chargedTo(context.sender));
        return (await storeResponseAlone(db, owner, made.response, options, holder.held))
          ? made.outcome
          : undefined;
      },
    });
    const outcome = await run.finally(() => holder.release());
    // Any other outcome is a failure, possibly of the commit, so nothing is stored.
    return { outcome, stored: outcome !== undefined && outcome === made?.outcome ? made.response : found };
  }

  /**
   * Runs the mutation as one statement, which writes nothing if the key is locked or has a response. The response shows
   * the inserted row only, so no scopes are noted.
   */
  async function trySingleStatement({
    args,
    owner,
    requestFingerprint,
    requested,
  }: KeyedMutation): Promise<Attempt> {
    const policy = replayCheck.getReplayPolicy(requested, args.contextValue.caller, NOTHING_NOTED);
    const response = (body: string) => ({ ...policy, fingerprint: requestFingerprint, status: 200, body });
    const outcome = await executor.runSingleStatement(args, keyLock(owner, response, options));
    return { outcome, stored: outcome?.kind === 'rendered' ? response(outcome.body) : undefined };
  }

  return { attempt, trySingleStatement };
}
