import type { Scope } from '../../auth/scopes.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Logger } from '../../platform/log.ts';
import { holderOf } from '../../request/caller.ts';
import type { Executor } from '../executor.ts';
import type { OperationArgs } from '../operation-context.ts';
import type { RequestedOperation } from '../operation-cost.ts';
import {
  type CostCeilings,
  errorsOf,
  isRetriable,
  type Rendered,
  type Single,
  statusOf,
  textOf,
} from '../outcome.ts';
import { createKeyHolds } from './key-hold.ts';
import type { ReplayCheck } from './replay-check.ts';
import type { KeyOwner } from './seal.ts';
import {
  type Disclosure,
  keyLock,
  lockKey,
  type StoredResponse,
  type StoreOptions,
  storeResponse,
  storeResponseAlone,
} from './store.ts';
import type { createStoredBytes } from './stored-bytes.ts';

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
  readonly executor: Executor;
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
    let made: { readonly response: StoredResponse; readonly outcome: Rendered } | undefined;
    const hold = holdOf(owner);
    const notedScopes = new Set<Scope>();
    context.notedScopes = notedScopes;
    const make = (executed: Single, disclosure: Disclosure) => {
      const status = statusOf(executed, 'application/json');
      const body = textOf(executed, { cost: context.state.cost, limits });
      const outcome: Rendered = { kind: 'rendered', status, body, errors: errorsOf(executed) };
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
      async undone(executed) {
        // Another attempt may get another response: with this one the mutation counts as not run.
        if (executed.kind === 'refused' || isRetriable(executed)) return executed;
        made = make(executed, NOTHING_SHOWN);
        storedBytes.take(owner.userId, made.response.body);
        // The lock ended with the transaction. Another request may have taken the key since.
        const db = database.owned(holderOf(context.state));
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
    const outcome = await executor.runOneStatement(args, keyLock(owner, response, options));
    return { outcome, stored: outcome?.kind === 'rendered' ? response(outcome.body) : undefined };
  }

  return { attempt, attemptAlone };
}
