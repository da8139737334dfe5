import { chargedTo } from '../../../auth/principal.ts';
import type { Scope } from '../../../auth/scopes.ts';
import type { Database } from '../../../database/database.ts';
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

/** Keeps the key of a mutation locked between its transactions. */
export interface KeyLockHolder {
  /** If false, another request may lock the key between two transactions. */
  readonly held: boolean;
  /** Must be called while a transaction has the lock of the key. */
  holdDuringWaits(): void;
  release(): void;
}

type Client = Awaited<ReturnType<Database['dedicatedClient']>>;

interface LockConnection {
  readonly client: Promise<Client>;
  /** Settles when the connection is free for the next statement. */
  last: Promise<unknown>;
  keys: number;
  open: boolean;
}

/** A single process needs no lock between transactions, because it knows its running mutations. */
const NO_HOLDER: KeyLockHolder = { held: false, holdDuringWaits: () => undefined, release: () => undefined };

/**
 * A mutation that waits for a row lock ends its transaction, which releases the lock of its key. After 50 ms, another
 * session of this instance therefore locks the key, too. If that connection breaks, a duplicate at another instance may
 * run, but the primary key lets only one of the two commit.
 */
function createKeyLockHolders(database: Database, log: Logger): (owner: KeyOwner) => KeyLockHolder {
  let current: LockConnection | undefined;

  function close(connection: LockConnection): void {
    connection.open = false;
    if (current === connection) current = undefined;
    connection.client.then((client) => client.end()).catch(() => undefined);
  }

  function open(): LockConnection {
    const client = database.dedicatedClient({ limited: true });
    const connection: LockConnection = { client, last: Promise.resolve(), keys: 0, open: true };
    client.then(
      (opened) => void opened.on('error', () => close(connection)).on('end', () => close(connection)),
      () => undefined,
    );
    return connection;
  }

  /** Never rejects, and resolves to false if the connection is lost. */
  function ask(connection: LockConnection, sql: string, owner: KeyOwner): Promise<boolean> {
    const result = connection.last.then(async () => {
      if (!connection.open) return false;
      try {
        const { rows } = await (await connection.client).query<{ done: boolean }>(sql, [lockName(owner)]);
        return rows[0]?.done === true;
      } catch (error) {
        close(connection);
        log.emit('idempotency.lock_not_held', { err: error });
        return false;
      }
    });
    connection.last = result;
    return result;
  }

  return (owner) => {
    if (database.kind === 'embedded') return NO_HOLDER;
    let timer: NodeJS.Timeout | undefined;
    let connection: LockConnection | undefined;
    let ended = false;

    async function giveUp(given: LockConnection, locked: boolean): Promise<void> {
      if (locked) await ask(given, RELEASE_KEY, owner);
      given.keys -= 1;
      if (given.keys === 0) close(given);
    }

    async function take(): Promise<void> {
      current ??= open();
      const taking = current;
      taking.keys += 1;
      let locked = false;
      // Another request that checks the lock takes it for a moment, so the first try may fail.
      for (let tries = 0; tries < TRIES && !locked && !ended && taking.open; tries += 1)
        locked = await ask(taking, HOLD_KEY, owner);
      if (locked && !ended) connection = taking;
      else await giveUp(taking, locked);
    }

    return {
      get held() {
        return connection?.open === true;
      },
      holdDuringWaits() {
        if (!ended) timer ??= setTimeout(() => void take(), HOLD_AFTER_MS);
      },
      release() {
        ended = true;
        clearTimeout(timer);
        if (connection !== undefined) void giveUp(connection, true);
        connection = undefined;
      },
    };
  };
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
  readonly log: Logger;
  readonly limits: CostCeilings;
  readonly replayCheck: ReplayCheck;
  readonly storedBytes: ReturnType<typeof createStoredBytes>;
}

export function createAttempts(options: AttemptOptions) {
  const { executor, database, log, limits, replayCheck, storedBytes } = options;
  const createHolder = createKeyLockHolders(database, log);

  /**
   * Runs the mutation in a transaction and stores its response.
   * @returns the response stored before, if there is one; no outcome and no response if the key is locked
   */
  async function attempt({ args, owner, requestFingerprint, requested }: KeyedMutation): Promise<Attempt> {
    const { contextValue: context } = args;
    const { caller } = context;
    let found: StoredResponse | undefined;
    let made: { readonly response: StoredResponse; readonly outcome: RenderedResult } | undefined;
    const holder = createHolder(owner);
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
    const outcome = await run.finally(holder.release);
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
