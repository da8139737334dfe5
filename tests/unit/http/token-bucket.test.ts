import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Bucket,
  type BucketPolicy,
  memoryBuckets,
  type Taken,
} from '../../../src/http/rate-limit/bucket-store.ts';
import { BucketModel, policies, sharings, steps, takeAll } from '../../support/bucket-model.ts';
import { steppedClock } from '../../support/time/stepped-clock.ts';

/** What two ways of adding fractions may differ by. */
const EPSILON = 1e-6;
const isAHairFrom = (tokens: number, whole: number) => Math.abs(tokens - whole) < EPSILON;

const clock = steppedClock();
const store = memoryBuckets(clock);
/** Buckets of one process answer at once. */
const take = (own: Bucket, shared?: Bucket) => store.take(own, shared) as Taken;
let names = 0;
/** A bucket that nobody has touched. */
function newBucket(policy: BucketPolicy): Bucket {
  names += 1;
  return { name: `bucket ${names}`, policy };
}

/** Takes from the models what was taken. A hair from a whole token both responses are right. */
function follow({ allowed }: Taken, models: readonly BucketModel[], hair: boolean): void {
  if (!hair) expect(allowed).toBe(takeAll(models));
  else if (allowed) for (const model of models) model.remove();
}

function expectRemaining({ remaining }: Taken, tokens: number): void {
  expect(Math.abs(remaining - Math.floor(tokens))).toBeLessThanOrEqual(
    isAHairFrom(tokens, Math.round(tokens)) ? 1 : 0,
  );
}

describe('the token bucket', () => {
  it('allows and holds what the model does, whatever comes when', async () => {
    let rejected = 0;
    await fc.assert(
      fc.asyncProperty(policies, steps(5_000), async (policy, sequence) => {
        const model = new BucketModel(policy);
        const bucket = newBucket(policy);
        for (const { afterMs, kind } of sequence) {
          clock.advance(afterMs);
          model.pass(afterMs);
          if (kind === 'give-back') {
            model.giveBack();
            await store.giveBack(bucket);
            continue;
          }
          const hair = isAHairFrom(model.tokens, 1);
          const taken = take(bucket);
          follow(taken, [model], hair);
          if (!taken.allowed) rejected += 1;
          expectRemaining(taken, model.tokens);
        }
      }),
      { numRuns: 500 },
    );
    expect(rejected).toBeGreaterThan(500);
  });

  it('says truly when the next token is there and when it is full', () => {
    fc.assert(
      fc.property(policies, fc.integer({ min: 1, max: 300 }), (policy, takes) => {
        const afterWaiting = (waitMs: number) => {
          const bucket = newBucket(policy);
          let last = take(bucket);
          for (let i = 0; i < takes; i += 1) last = take(bucket);
          clock.advance(waitMs);
          return { last, next: take(bucket) };
        };
        const { allowed, retryAfterMs, fullAfterMs } = afterWaiting(0).last;
        expect(retryAfterMs > 0).toBe(!allowed);
        if (!allowed) {
          expect(afterWaiting(Math.ceil(retryAfterMs)).next.allowed).toBe(true);
          expect(afterWaiting(Math.max(0, Math.floor(retryAfterMs) - 1)).next.allowed).toBe(false);
        }
        expectRemaining(afterWaiting(Math.ceil(fullAfterMs)).next, policy.burst - 1);
      }),
    );
  });
});

describe('a bucket of one client and one that several share', () => {
  it('give a token both or neither, as the models do, and tell of the emptier', async () => {
    let rejectedByShared = 0;
    let rejectedByOwn = 0;
    await fc.assert(
      fc.asyncProperty(sharings, steps(2_000), async ({ own, shared }, sequence) => {
        const models = own.map((policy) => new BucketModel(policy));
        const sharedModel = new BucketModel(shared);
        const clients = own.map(newBucket);
        const common = newBucket(shared);
        for (const { afterMs, client, kind } of sequence) {
          const bucket = clients[client] ?? common;
          const model = models[client] ?? sharedModel;
          clock.advance(afterMs);
          for (const each of [...models, sharedModel]) each.pass(afterMs);
          if (kind === 'give-back') {
            for (const each of [model, sharedModel]) each.giveBack();
            await store.giveBack(bucket, common);
            continue;
          }
          const both = [model, sharedModel];
          const hair = both.some(({ tokens }) => isAHairFrom(tokens, 1));
          const ownIsEmpty = model.tokens < 1;
          const taken = take(bucket, common);
          follow(taken, both, hair);
          if (!taken.allowed && ownIsEmpty) rejectedByOwn += 1;
          else if (!taken.allowed) rejectedByShared += 1;
          expectRemaining(taken, Math.min(model.tokens, sharedModel.tokens));
          if (Math.abs(model.tokens - sharedModel.tokens) > EPSILON)
            expect(taken.policy).toBe(model.tokens < sharedModel.tokens ? bucket.policy : shared);
        }
      }),
      { numRuns: 500 },
    );
    expect(Math.min(rejectedByOwn, rejectedByShared)).toBeGreaterThan(500);
  });

  it('are waited for until each has a token', () => {
    fc.assert(
      fc.property(sharings, fc.integer({ min: 1, max: 40 }), ({ own: [policy], shared }, takes) => {
        const afterWaiting = (waitMs: number) => {
          const buckets = [newBucket(policy ?? shared), newBucket(shared)] as const;
          let last = take(...buckets);
          for (let i = 0; i < takes; i += 1) last = take(...buckets);
          clock.advance(waitMs);
          return { last, next: take(...buckets) };
        };
        const { allowed, retryAfterMs } = afterWaiting(0).last;
        if (allowed) return;
        expect(afterWaiting(Math.ceil(retryAfterMs)).next.allowed).toBe(true);
        expect(afterWaiting(Math.max(0, Math.floor(retryAfterMs) - 1)).next.allowed).toBe(false);
      }),
    );
  });

  it('are not emptied for a client with greater limits by one with lesser ones', () => {
    const great = newBucket({ burst: 1_000, perSecond: 0.001 });
    const small = newBucket({ burst: 10, perSecond: 0.001 });
    const { name } = newBucket(great.policy);
    const allowedOf = (own: Bucket) => take(own, { name, policy: own.policy }).allowed;
    for (let i = 0; i < 5; i += 1) expect(allowedOf(small)).toBe(true);
    for (let i = 0; i < 995; i += 1) expect(allowedOf(great)).toBe(true);
    expect(allowedOf(great)).toBe(false);
  });
});
