import fc from 'fast-check';
import { expect, it } from 'vitest';
import { leastLength } from '../../../src/engine/operation/response-bounds.ts';

/** Any JSON, and objects whose names are most of it. */
const json = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.dictionary(fc.string({ minLength: 50, maxLength: 100 }), fc.integer()),
);

it('The bound of a result is at most the size of its JSON, and at least a sixth of it', () => {
  fc.assert(
    fc.property(json, (value) => {
      const bytes = Buffer.byteLength(JSON.stringify(value));
      const least = leastLength(value, bytes);
      expect(least).toBeLessThanOrEqual(bytes);
      expect(6 * least).toBeGreaterThanOrEqual(bytes);
    }),
    { numRuns: 1_000 },
  );
});

it('A result whose JSON no string can hold is measured only up to the maximum', () => {
  const text = 'x'.repeat(2 ** 20);
  const read = { count: 0 };
  const row = () => ({
    get body() {
      read.count += 1;
      return text;
    },
  });
  const least = leastLength({ rows: Array.from({ length: 1_024 }, row) }, 2 ** 23);
  expect(least).toBeGreaterThan(2 ** 23);
  expect(read.count).toBeLessThanOrEqual(9);
});
