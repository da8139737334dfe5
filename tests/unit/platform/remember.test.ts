import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { remember } from '../../../src/platform/remember.ts';

describe('A remembered function', () => {
  it('gives what the function gives, for any texts in any order', () => {
    const length = remember((text) => (text === 'none' ? undefined : text.length));
    fc.assert(
      fc.property(fc.array(fc.constantFrom('', 'a', 'none', 'b'.repeat(500), '__proto__')), (texts) => {
        for (const text of texts) expect(length(text)).toBe(text === 'none' ? undefined : text.length);
      }),
    );
  });

  it('computes a text once, a long one each time, and keeps no more than so many', () => {
    let computed = 0;
    const compute = remember(() => {
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
