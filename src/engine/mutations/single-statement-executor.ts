import type { Cancellation } from '../../database/cancellation.ts';
import { violatedUniqueIndex } from '../../database/errors.ts';
import { isAborted } from '../../database/retries.ts';
import type { Parameter } from '../../database/statement.ts';
import { recordFallback } from '../core/context.ts';
import { databaseKindOf } from '../core/mask-error.ts';
import { fillTimestamp, type KeyLockSql, type ReadyInsert, readyInsert } from '../core/single-statement.ts';
import type { OperationArgs } from '../operation/operation-context.ts';
import { located, rejected, rendered, type SingleResult } from '../operation/outcome.ts';
import { responseWith } from '../queries/execute-in-database.ts';
import { afterCommit, type MutationOptions, type MutationSteps } from './mutation-executor.ts';

/**
 * Stores the response of an Idempotency-Key in the statement of the mutation. If the key is locked, neither is done.
 */
export interface KeyLock {
  readonly sql: KeyLockSql;
  /** The response has TIMESTAMP_PLACEHOLDER for timestamps that the database sets. */
  valuesFor(response: string): readonly Parameter[];
}

/** The methods never throw, because masked errors are in the outcome. */
export interface KeyedExecutor {
  /** @returns undefined if `before` returned false or `onRollback` returned undefined */
  runMutation(args: OperationArgs, steps: MutationSteps): Promise<SingleResult | undefined>;
  /** @returns undefined if nothing was changed */
  runSingleStatement(args: OperationArgs, keyLock: KeyLock): Promise<SingleResult | undefined>;
}

const NOTHING_WRITTEN =
  'the single statement wrote nothing, because a key is locked or a unique value is taken';

/**
 * A retry sends its response to the database, only to find the stored one. For a longer response, the stored one is
 * read first.
 */
const MOST_KEYED_CHARACTERS = 65_536;

/**
 * The response is known before the statement is sent, except for timestamps that the database sets. Mutations whose
 * response could change run in a transaction.
 */
export function createSingleStatementExecutor(options: MutationOptions) {
  const { database, log, queue, onCommit } = options;

  function ready(args: OperationArgs): ReadyInsert | undefined {
    const { contextValue: context } = args;
    if (context.shownCost !== undefined || !context.lookAhead) return undefined;
    try {
      return readyInsert(args, context.operation.node, context);
    } catch {
      // The execution in a transaction rejects the mutation for the same reason.
      return undefined;
    }
  }

  async function run(
    { statement, values, data, row, field }: ReadyInsert,
    { contextValue: context }: OperationArgs,
    cancellation: Cancellation,
    keyLock: KeyLock | undefined,
  ): Promise<SingleResult | undefined> {
    const work = database.unitOfWork({ singleStatement: true }, cancellation);
    const response = responseWith(data);
    try {
      const [inserted] = await (keyLock === undefined
        ? work.query(statement.plain, values)
        : work.query(statement.keyed(keyLock.sql, values.length + 1), [
            ...values,
            ...keyLock.valuesFor(response),
          ]));
      if (inserted === undefined) return recordFallback(context, NOTHING_WRITTEN);
      context.onPath('single_statement');
      cancellation.close();
      onCommit();
      context.sender.work.changes = { fields: [field], ids: 'id' in row ? [String(row.id)] : [] };
      return rendered(fillTimestamp(response, inserted.createdAt));
    } catch (cause) {
      const error = afterCommit(work, cause);
      const { requestId, effects, operation } = context;
      const kind = databaseKindOf(error);
      if (isAborted(kind) || violatedUniqueIndex(error) !== undefined) return undefined;
      // The client can retry immediately, because the key tells whether the mutation has run.
      if (kind === 'unknown' && keyLock !== undefined) effects.headers['retry-after'] = '1';
      return rejected(located(error, operation.node), { requestId, log });
    }
  }

  /**
   * The statement commits by itself. Other mutations run in a transaction, and with a locked or used key nothing runs.
   * @returns undefined if nothing was changed, also because another transaction made the database abort the statement
   */
  return async (
    args: OperationArgs,
    cancellation: Cancellation,
    keyLock?: KeyLock,
  ): Promise<SingleResult | undefined> => {
    const insert = ready(args);
    if (insert === undefined) return undefined;
    if (keyLock !== undefined && insert.data.length > MOST_KEYED_CHARACTERS) return undefined;
    return queue.run(cancellation.owner, () => run(insert, args, cancellation, keyLock), cancellation);
  };
}
