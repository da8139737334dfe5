import { databaseKindOf } from '../graphql/database-kind.ts';
import { isOneStatement, type ReadyInsert, readyInsert, runGuarded } from '../graphql/one-statement.ts';
import type { Cancellation } from '../platform/db/cancellation.ts';
import type { Guard } from '../platform/db/guarded-write.ts';
import type { Parameter } from '../platform/db/statement.ts';
import { afterCommit, type MutationOptions } from './mutation-executor.ts';
import type { OperationArgs } from './operation-context.ts';
import { located, refused, rendered, type Single } from './outcome.ts';

/** Commits something of its own together with a mutation, in the same statement, or prevents both. */
export interface MutationGuard {
  readonly guard: Guard;
  /** The guard's parameters for a response, which has OPEN_INSTANT for what the database sets. */
  valuesFor(response: string): readonly Parameter[];
}

/** Runs a mutation behind a guard. Undefined if it was not done: nothing was changed. */
export type GuardedExecutor = (
  args: OperationArgs,
  cancellation: Cancellation,
  guard: MutationGuard,
) => Promise<Single | undefined>;

/** A retry sends its response again, only to find that it is stored. Longer ones are looked for first. */
const MOST_CHARACTERS = 65_536;

/**
 * Runs mutations that are a single statement behind a guard. The response is known before the statement is sent,
 * except for what the database sets. Whatever could make the response another one is left to an execution.
 */
export function createGuardedExecutor(options: MutationOptions): GuardedExecutor {
  const { database, log, line, bounds, onCommit } = options;

  /** Undefined if the mutation needs more than a statement, or is going to be refused. */
  function ready(args: OperationArgs): ReadyInsert | undefined {
    const { contextValue: context, schema } = args;
    const { plans, operation, state } = context;
    if (state.cost !== undefined || !isOneStatement(plans, schema, operation.node)) return undefined;
    if (!bounds.fitsOneStatement(args)) return undefined;
    try {
      const insert = readyInsert(args, operation.node, context);
      return insert !== undefined && insert.data.length <= MOST_CHARACTERS ? insert : undefined;
    } catch {
      // An execution refuses it for the same reason.
      return undefined;
    }
  }

  async function run(
    insert: ReadyInsert,
    { contextValue: context }: OperationArgs,
    cancellation: Cancellation,
    { guard, valuesFor }: MutationGuard,
  ): Promise<Single | undefined> {
    const work = database.unitOfWork({ oneStatement: true }, cancellation);
    try {
      const values = valuesFor(`{"data":${insert.data}}`);
      const data = await runGuarded(insert, context, work, guard, values);
      if (data === undefined) return undefined;
      cancellation.close();
      onCommit();
      return rendered(`{"data":${data}}`);
    } catch (cause) {
      const error = afterCommit(work, cause);
      const { requestId, state, operation } = context;
      const kind = databaseKindOf(error);
      // The database aborted it in favour of another transaction.
      if (kind === 'conflict' || kind === 'locked') return undefined;
      // The client can find out at once: its key tells.
      if (kind === 'unknown') state.responseHeaders['retry-after'] = '1';
      return refused(located(error, operation.node), { requestId, log });
    }
  }

  return async (args, cancellation, guard) => {
    const insert = ready(args);
    if (insert === undefined) return undefined;
    return line.run(cancellation.owner, () => run(insert, args, cancellation, guard), cancellation);
  };
}
