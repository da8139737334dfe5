import fc from 'fast-check';
import type { BucketPolicy } from '../../src/http/rate-limit/token-bucket.ts';

/** A client that asks or gives back after a while. */
export interface Step {
  readonly afterMs: number;
  readonly kind: 'take' | 'give-back';
}

export const policies: fc.Arbitrary<BucketPolicy> = fc.record({
  burst: fc.integer({ min: 1, max: 200 }),
  perSecond: fc.oneof(
    fc.integer({ min: 1, max: 500 }),
    fc.double({ min: 0.01, max: 10, noNaN: true }).map((rate) => Math.round(rate * 100) / 100),
  ),
});

export function steps(maxWaitMs: number): fc.Arbitrary<Step[]> {
  return fc.array(
    fc.record({
      afterMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: maxWaitMs })),
      kind: fc.oneof(
        { arbitrary: fc.constant<Step['kind']>('take'), weight: 9 },
        fc.constant<Step['kind']>('give-back'),
      ),
    }),
    { minLength: 1, maxLength: 120 },
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
    if (this.#units < BucketModel.#TOKEN) return false;
    this.#units -= BucketModel.#TOKEN;
    return true;
  }

  giveBack(): void {
    this.#units = Math.min(this.#full, this.#units + BucketModel.#TOKEN);
  }

  /** Tokens, the started one as a fraction. */
  get tokens(): number {
    return this.#units / BucketModel.#TOKEN;
  }
}
