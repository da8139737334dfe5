import type { Cancellation } from '../platform/db/cancellation.ts';
import type { Gate } from './concurrency-limiter.ts';

/** Runs once each of the gates has let it in. Waiting there is part of its time. Rejects with what a gate refuses it with. */
export async function admitted<T>(
  gates: readonly Gate[],
  cancellation: Cancellation,
  run: () => Promise<T>,
): Promise<T> {
  let passed = 0;
  try {
    for (const gate of gates) {
      const waiting = gate.enter(cancellation);
      if (waiting !== undefined) await waiting;
      passed += 1;
    }
    return await run();
  } finally {
    for (const gate of gates.slice(0, passed)) gate.leave();
  }
}
