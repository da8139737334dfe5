import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Cancellation } from '../../../src/database/cancellation.ts';
import {
  type Audience,
  createOAuthRequestQueue,
} from '../../../src/features/oauth/provider/oauth-requests.ts';
import { createMetrics } from '../../../src/platform/metrics/metrics.ts';

const CALLS = 20;
const CALL_MS = 30;

/** An event loop whose time passes only while a call works, and while all calls rest. */
function stepEventLoop() {
  let nowMs = 0;
  const resting: { readonly dueMs: number; readonly wake: () => void }[] = [];
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const setTimeout = vi
    .spyOn(timers, 'setTimeout')
    .mockImplementation(
      (ms = 0) =>
        new Promise((resolve) => resting.push({ dueMs: nowMs + ms, wake: () => resolve(undefined) })),
    );
  syncBuiltinESMExports();
  onTestFinished(() => {
    setTimeout.mockRestore();
    syncBuiltinESMExports();
  });
  const endSlice = () => new Promise(setImmediate);
  return {
    work(ms: number) {
      nowMs += ms;
    },
    endSlice,
    /** Lets time pass until nothing rests, one timer after the other. Returns the time. */
    async run(): Promise<number> {
      for (;;) {
        await endSlice();
        const [next] = resting.toSorted((a, b) => a.dueMs - b.dueMs);
        if (next === undefined) return nowMs;
        resting.splice(resting.indexOf(next), 1);
        nowMs = Math.max(nowMs, next.dueMs);
        next.wake();
      }
    },
  };
}

/** The share of the event loop that calls take, from the first of them to the rest after the last. */
async function measureShare(audiences: readonly Audience[]): Promise<number> {
  const loop = stepEventLoop();
  const queue = createOAuthRequestQueue(CALLS, createMetrics());
  const call = async (audience: Audience, owner: string) => {
    const work = { audience, owner, cancellation: new Cancellation(undefined, owner) };
    const responded = await queue.take(work, undefined);
    loop.work(CALL_MS);
    responded(false);
  };
  const calls: Promise<void>[] = [];
  for (const audience of audiences) {
    for (let index = 0; index < CALLS; index += 1) calls.push(call(audience, `${audience} ${index}`));
    await loop.endSlice();
  }
  const tookMs = await loop.run();
  await Promise.all(calls);
  return (calls.length * CALL_MS) / tookMs;
}

describe('OAuth calls that wait for a slot', () => {
  it.each<[string, readonly Audience[]]>([
    ['users send them', ['user']],
    ['programs send them', ['program']],
    ['users and programs send them', ['user', 'program']],
  ])('take at most half of the event loop where %s', async (_who, audiences) => {
    expect(await measureShare(audiences)).toBeLessThanOrEqual(0.5);
  });
});
