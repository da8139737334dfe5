import fc from 'fast-check';
import { LRUCache } from 'lru-cache';
import { describe, expect, it } from 'vitest';
import { RecentlyUsed } from '../../../src/platform/recently-used.ts';

describe('A cache of what was used recently', () => {
  it('keeps and drops what lru-cache does', () => {
    const use = fc.record({ key: fc.nat(9), value: fc.option(fc.string({ minLength: 1, maxLength: 12 })) });
    fc.assert(
      fc.property(fc.array(use, { maxLength: 60 }), fc.integer({ min: 1, max: 12 }), (uses, max) => {
        const own = new RecentlyUsed<number, string>(max);
        const other = new LRUCache<number, string>({ max });
        for (const { key, value } of uses) {
          if (value !== null) {
            own.set(key, value);
            other.set(key, value);
          }
          expect(own.get(key)).toBe(other.get(key));
        }
        for (let key = 0; key < 10; key += 1) expect(own.get(key)).toBe(other.get(key));
      }),
    );
  });
});
