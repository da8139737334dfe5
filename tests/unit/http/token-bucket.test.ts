import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BucketState, giveBack, take } from '../../../src/http/rate-limit/token-bucket.ts';
import { BucketModel, policies, steps } from '../../support/bucket-model.ts';

const START_MS = 1_800_000_000_000;
/** What two ways of adding fractions may differ by. */
const EPSILON = 1e-6;

describe('the token bucket', () => {
  it('allows and holds what the model does, whatever comes when', () => {
    fc.assert(
      fc.property(policies, steps(5_000), (policy, sequence) => {
        const model = new BucketModel(policy);
        let state: BucketState | undefined;
        let nowMs = START_MS;
        for (const { afterMs, kind } of sequence) {
          nowMs += afterMs;
          model.pass(afterMs);
          if (kind === 'give-back') {
            model.giveBack();
            if (state !== undefined) state = giveBack(state, nowMs, policy);
            continue;
          }
          // Where the model is a hair from a whole token both answers are right, and the sequence says no more.
          if (Math.abs(model.tokens - 1) < EPSILON) return;
          const result = take(state, nowMs, policy);
          state = result.state;
          expect(result.taken.allowed).toBe(model.take());
          expect(state.tokens).toBeCloseTo(model.tokens, 5);
          expect(Math.abs(result.taken.remaining - Math.floor(model.tokens))).toBeLessThanOrEqual(
            Math.abs(model.tokens - Math.round(model.tokens)) < EPSILON ? 1 : 0,
          );
        }
      }),
      { numRuns: 500 },
    );
  });

  it('says truly when the next token is there and when it is full', () => {
    fc.assert(
      fc.property(policies, fc.integer({ min: 1, max: 300 }), (policy, takes) => {
        let state: BucketState | undefined;
        let last = take(state, START_MS, policy);
        for (let i = 0; i < takes; i += 1) {
          last = take(state, START_MS, policy);
          state = last.state;
        }
        const { allowed, retryAfterMs, fullAfterMs } = last.taken;
        const again = (afterMs: number) => take(state, START_MS + afterMs, policy);
        expect(retryAfterMs > 0).toBe(!allowed);
        if (!allowed) {
          expect(again(Math.ceil(retryAfterMs)).taken.allowed).toBe(true);
          expect(again(Math.max(0, Math.floor(retryAfterMs) - 1)).taken.allowed).toBe(false);
        }
        expect(again(Math.ceil(fullAfterMs)).state.tokens).toBeCloseTo(policy.burst - 1, 6);
      }),
    );
  });

  it('never holds more than its burst nor less than nothing, and gets nothing from a clock that goes back', () => {
    const anyTimes = fc.array(fc.integer({ min: -10_000, max: 10_000 }), { maxLength: 100 });
    fc.assert(
      fc.property(policies, anyTimes, (policy, times) => {
        let state: BucketState | undefined;
        let latest = START_MS;
        let allowed = 0;
        for (const offset of times) {
          const result = take(state, START_MS + offset, policy);
          latest = Math.max(latest, START_MS + offset);
          state = result.state;
          if (result.taken.allowed) allowed += 1;
          expect(state.tokens).toBeGreaterThanOrEqual(0);
          expect(state.tokens).toBeLessThanOrEqual(policy.burst);
        }
        const elapsedMs = latest - (START_MS + Math.min(0, ...times));
        expect(allowed).toBeLessThanOrEqual(policy.burst + (elapsedMs * policy.perSecond) / 1000 + EPSILON);
      }),
    );
  });
});
