import fc from 'fast-check';
import type { BucketPolicy } from '../../src/http/rate-limit/bucket-store.ts';

/** A client that asks or gives back after a while. */
export interface Step {
  readonly afterMs: number;
  /** Which of the clients that share a bucket. */
  readonly client: number;
  readonly kind: 'take' | 'give-back';
}

/** Each client's own policy, and that of the bucket that they share. */
export interface Sharing {
  readonly own: readonly BucketPolicy[];
  readonly shared: BucketPolicy;
}

const CLIENTS = 3;

export const policies: fc.Arbitrary<BucketPolicy> = fc.record({
  burst: fc.integer({ min: 1, max: 200 }),
  perSecond: fc.oneof(
    fc.integer({ min: 1, max: 500 }),
    fc.double({ min: 0.01, max: 10, noNaN: true }).map((rate) => Math.round(rate * 100) / 100),
  ),
});

/** Small bursts: the shared bucket and those of the clients run dry in turn. */
const smallPolicies = policies.map(({ burst, perSecond }) => ({ burst: 1 + (burst % 12), perSecond }));

export const sharings: fc.Arbitrary<Sharing> = fc.record({
  own: fc.array(smallPolicies, { minLength: CLIENTS, maxLength: CLIENTS }),
  shared: smallPolicies,
});

export function steps(maxWaitMs: number): fc.Arbitrary<Step[]> {
  return fc.array(
    fc.record({
      afterMs: fc.oneof({ arbitrary: fc.constant(0), weight: 9 }, fc.integer({ min: 0, max: maxWaitMs })),
      client: fc.nat({ max: CLIENTS - 1 }),
      kind: fc.oneof(
        { arbitrary: fc.constant<Step['kind']>('take'), weight: 9 },
        fc.constant<Step['kind']>('give-back'),
      ),
    }),
    // Else fast-check prefers short sequences, which empty no bucket.
    { minLength: 1, maxLength: 120, size: 'max' },
  );
}

/**
 * The bucket as the textbook has it, in whole units so that nothing is rounded: a unit is what flows in in a
 * millisecond at a hundredth of a token a second.
 */
export class BucketModel {
  static readonly #TOKEN = 100_000;
  readonly #full: number;
  readonly #perMs: number;
  #units: number;

  constructor({ burst, perSecond }: BucketPolicy) {
    this.#full = burst * BucketModel.#TOKEN;
    this.#perMs = Math.round(perSecond * 100);
    this.#units = this.#full;
  }

  pass(ms: number): void {
    this.#units = Math.min(this.#full, this.#units + ms * this.#perMs);
  }

  take(): boolean {
    return takeAll([this]);
  }

  get holdsToken(): boolean {
    return this.#units >= BucketModel.#TOKEN;
  }

  remove(): void {
    this.#units -= BucketModel.#TOKEN;
  }

  giveBack(): void {
    this.#units = Math.min(this.#full, this.#units + BucketModel.#TOKEN);
  }

  /** Tokens, the started one as a fraction. */
  get tokens(): number {
    return this.#units / BucketModel.#TOKEN;
  }
}

/** Takes a token from each of the buckets, or from none of them. */
export function takeAll(buckets: readonly BucketModel[]): boolean {
  const allowed = buckets.every(({ holdsToken }) => holdsToken);
  if (allowed) for (const bucket of buckets) bucket.remove();
  return allowed;
}
