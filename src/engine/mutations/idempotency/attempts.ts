import { holderOf } from '../../../auth/principal.ts';
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
  type Single,
  serializeResponse,
  statusOf,
} from '../../operation/outcome.ts';
import type { KeyedExecutor } from '../single-statement-executor.ts';
import type { ReplayCheck } from './replay-check.ts';
import {
  type createStoredBytes,
  type Disclosure,
  HOLD_KEY,
  type KeyOwner,
  keyLock,
  lockKey,
  lockName,
  RELEASE_KEY,
  type StoredResponse,
  type StoreOptions,
  storeResponse,
  storeResponseAlone,
} from './response-store.ts';

/** Longer than most mutations take, and well before a wait for a row lock ends the transaction (300 ms). */
const HOLD_AFTER_MS = 50;
const TRIES = 5;

/** Keeps the key of a mutation locked between its transactions. */
export interface KeyHold {
  /** Whether the key is locked. If it cannot be, another request may get it between two transactions. */
  readonly held: boolean;
  /** Call it while a transaction has the key's lock: a long mutation keeps the key from then on. */
  arm(): void;
  /** Releases the key. The caller does not wait for it. */
  end(): void;
}

type Client = Awaited<ReturnType<Database['dedicatedClient']>>;

/** A connection, open while it keeps keys. */
interface Holder {
  readonly client: Promise<Client>;
  /** Settles when the connection is free for the next statement. */
  last: Promise<unknown>;
  keys: number;
  open: boolean;
}

/** A single process needs none: it knows its running mutations. */
const NO_HOLD: KeyHold = { held: false, arm: () => undefined, end: () => undefined };

/**
 * A mutation that waits for a row lock gives up its transaction, and with that the lock of its key. So once it has run
 * for a while, the key is kept by a lock of another session, on one connection of this instance. If that connection
 * breaks, a duplicate at another instance may get its turn; the primary key lets only one of them commit.
 */
function createKeyHolds(database: Database, log: Logger): (owner: KeyOwner) => KeyHold {
  let current: Holder | undefined;

  /** Closes the connection. Its locks end with it. */
  function close(holder: Holder): void {
    holder.open = false;
    if (current === holder) current = undefined;
    holder.client.then((client) => client.end()).catch(() => undefined);
  }

  function open(): Holder {
    const client = database.dedicatedClient({ limited: true });
    const holder: Holder = { client, last: Promise.resolve(), keys: 0, open: true };
    client.then(
      (opened) => void opened.on('error', () => close(holder)).on('end', () => close(holder)),
      () => undefined,
    );
    return holder;
  }

  /** Runs a statement on a key after those before it. False if the connection is lost. Never rejects. */
  function ask(holder: Holder, sql: string, owner: KeyOwner): Promise<boolean> {
    const answer = holder.last.then(async () => {
      if (!holder.open) return false;
      try {
        const { rows } = await (await holder.client).query<{ done: boolean }>(sql, [lockName(owner)]);
        return rows[0]?.done === true;
      } catch (error) {
        close(holder);
        log.emit('idempotency.lock_not_held', { err: error });
        return false;
      }
    });
    holder.last = answer;
    return answer;
  }

  return (owner) => {
    if (database.kind === 'embedded') return NO_HOLD;
    let timer: NodeJS.Timeout | undefined;
    let holder: Holder | undefined;
    let ended = false;

    async function giveUp(given: Holder, locked: boolean): Promise<void> {
      if (locked) await ask(given, RELEASE_KEY, owner);
      given.keys -= 1;
      if (given.keys === 0) close(given);
    }

    async function take(): Promise<void> {
      current ??= open();
      const taking = current;
      taking.keys += 1;
      let locked = false;
      // Whoever looks whether the key is kept has its lock for a moment.
      for (let tries = 0; tries < TRIES && !locked && !ended && taking.open; tries += 1)
        locked = await ask(taking, HOLD_KEY, owner);
      if (locked && !ended) holder = taking;
      else await giveUp(taking, locked);
    }

    return {
      get held() {
        return holder?.open === true;
      },
      arm() {
        if (!ended) timer ??= setTimeout(() => void take(), HOLD_AFTER_MS);
      },
      end() {
        ended = true;
        clearTimeout(timer);
        if (holder !== undefined) void giveUp(holder, true);
        holder = undefined;
      },
    };
  };
}

const NOTHING_NOTED: ReadonlySet<Scope> = new Set();
const NOTHING_SHOWN: Disclosure = { sessionId: null, scopes: [] };

/** A mutation with a key, and what identifies it. */
export interface KeyedMutation {
  readonly args: OperationArgs;
  readonly owner: KeyOwner;
  readonly print: Buffer;
  readonly asked: RequestedOperation;
}

export interface Attempt {
  /** Undefined if the mutation did not run. */
  readonly outcome: Single | undefined;
  /** What is now committed under the key, as far as known. */
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

/** The two ways in which a mutation commits with its key: as a transaction, or as one statement. */
export function createAttempts(options: AttemptOptions) {
  const { executor, database, log, limits, replayCheck, storedBytes } = options;
  const holdOf = createKeyHolds(database, log);

  /**
   * One attempt: the mutation with its response, the response stored before, or neither if the key is locked.
   */
  async function attempt({ args, owner, print, asked }: KeyedMutation): Promise<Attempt> {
    const { contextValue: context } = args;
    const { caller } = context;
    let found: StoredResponse | undefined;
    let made: { readonly response: StoredResponse; readonly outcome: RenderedResult } | undefined;
    const hold = holdOf(owner);
    const notedScopes = new Set<Scope>();
    context.notedScopes = notedScopes;
    const make = (executed: Single, disclosure: Disclosure) => {
      const status = statusOf(executed, 'application/json');
      const body = serializeResponse(executed, { cost: context.shownCost, limits });
      const outcome: RenderedResult = { kind: 'rendered', status, body, errors: errorsOf(executed) };
      return { response: { ...disclosure, fingerprint: print, status, body }, outcome };
    };
    const run = executor.runMutation(args, {
      async before(work) {
        const key = await lockKey(work, owner, options, hold.held);
        found = key.found;
        if (!key.locked || found !== undefined) return false;
        hold.arm();
        return true;
      },
      async after(work, executed) {
        made = make(executed, replayCheck.disclosureOf(asked, caller, notedScopes));
        storedBytes.take(owner.userId, made.response.body);
        await storeResponse(work, owner, made.response, options);
        return made.outcome;
      },
      async onRollback(executed) {
        // Another attempt may get another response: with this one the mutation counts as not run.
        if (executed.kind === 'refused' || isRetriable(executed)) return executed;
        made = make(executed, NOTHING_SHOWN);
        storedBytes.take(owner.userId, made.response.body);
        // The lock ended with the transaction. Another request may have taken the key since.
        const db = database.owned(holderOf(context.sender));
        return (await storeResponseAlone(db, owner, made.response, options, hold.held))
          ? made.outcome
          : undefined;
      },
    });
    const outcome = await run.finally(hold.end);
    // Any other outcome is a failure, possibly of the commit: nothing is stored.
    return { outcome, stored: outcome !== undefined && outcome === made?.outcome ? made.response : found };
  }

  /**
   * The mutation as one statement that also stores its response, or neither: if it needs more than a statement,
   * is going to be refused, or the key is locked or has a response. It shows its own row only, so it notes no
   * scopes.
   */
  async function attemptAlone({ args, owner, print, asked }: KeyedMutation): Promise<Attempt> {
    const disclosure = replayCheck.disclosureOf(asked, args.contextValue.caller, NOTHING_NOTED);
    const response = (body: string) => ({ ...disclosure, fingerprint: print, status: 200, body });
    const outcome = await executor.runSingleStatement(args, keyLock(owner, response, options));
    return { outcome, stored: outcome?.kind === 'rendered' ? response(outcome.body) : undefined };
  }

  return { attempt, attemptAlone };
}
