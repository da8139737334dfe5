import type { ExecutionArgs, ExecutionResult } from 'graphql';
import type { Context } from '../graphql/context.ts';
import type { Cancellation } from '../platform/db/cancellation.ts';
import type { Logger } from '../platform/log.ts';
import type { Gate } from './gate.ts';
import { refusedResult } from './masked-result.ts';

/** Runs where each of the gates has let it in. Waiting there is part of its time. */
export async function admitted<T>(
  { contextValue }: ExecutionArgs,
  log: Logger,
  gates: readonly Gate[],
  cancellation: Cancellation,
  run: () => Promise<T>,
): Promise<T | ExecutionResult> {
  let passed = 0;
  try {
    for (const gate of gates) {
      const waiting = gate.enter(cancellation);
      if (waiting !== undefined) await waiting;
      passed += 1;
    }
    return await run();
  } catch (error) {
    if (passed === gates.length) throw error;
    return refusedResult(error, contextValue as Context, log);
  } finally {
    for (const gate of gates.slice(0, passed)) gate.leave();
  }
}
