import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoize, SmallMap } from '../../../src/platform/cache.ts';

describe('A small map', () => {
  it('never has more entries than it may, and only values that were set last', () => {
    const use = fc.tuple(fc.nat(9), fc.nat());
    fc.assert(
      fc.property(fc.array(use, { maxLength: 60 }), fc.integer({ min: 1, max: 12 }), (uses, max) => {
        const own = new SmallMap<number, number>(max);
        const all = new Map<number, number>();
        for (const [key, value] of uses) {
          own.set(key, value);
          all.set(key, value);
          expect(own.get(key)).toBe(value);
          expect(own.size).toBeLessThanOrEqual(max);
          for (const [kept, found] of own) expect(found).toBe(all.get(kept));
        }
        if (all.size <= max) expect([...own].toSorted()).toEqual([...all].toSorted());
      }),
    );
  });
});

describe('A remembered function', () => {
  it('computes a text once, a long one each time, and keeps no more than so many', () => {
    let computed = 0;
    const compute = memoize(() => {
      computed += 1;
    });
    compute('short');
    compute('short');
    expect(computed).toBe(1);
    compute('x'.repeat(1_000));
    compute('x'.repeat(1_000));
    expect(computed).toBe(3);
    for (let index = 0; index < 200; index += 1) compute(String(index));
    compute('short');
    expect(computed).toBe(204);
  });
});
