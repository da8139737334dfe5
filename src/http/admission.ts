import type { ExecutionArgs, ExecutionResult } from 'graphql';
import type { Context } from '../graphql/context.ts';
import type { Cancellation } from '../platform/db/cancellation.ts';
import type { Logger } from '../platform/log.ts';
import { enterAll, type Gate } from './gate.ts';
import { refusedResult } from './masked-result.ts';

/** Runs where each of the gates has let it in. Waiting there is part of its time. */
export async function admitted<T>(
  { contextValue }: ExecutionArgs,
  log: Logger,
  gates: readonly Gate[],
  cancellation: Cancellation,
  run: () => Promise<T>,
): Promise<T | ExecutionResult> {
  let leave: () => void;
  try {
    leave = await enterAll(gates, cancellation);
  } catch (error) {
    return refusedResult(error, contextValue as Context, log);
  }
  return run().finally(leave);
}
