import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { excessOf, MAX_JSON_LEVELS, MAX_JSON_VALUES } from '../../../src/http/body.ts';

/** How many values a parsed value has, with itself, and how deep it is nested. */
function measure(value: unknown): { values: number; levels: number } {
  if (typeof value !== 'object' || value === null) return { values: 1, levels: 0 };
  const inner = Object.values(value).map(measure);
  return {
    values: 1 + inner.reduce((sum, { values }) => sum + values, 0),
    levels: 1 + Math.max(0, ...inner.map(({ levels }) => levels)),
  };
}

const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const zeros = (count: number) => `[${Array.from({ length: count }, () => '0').join()}]`;

describe('The bounds of JSON', () => {
  it('are exact: so many values, so many levels, wherever they are', () => {
    expect(excessOf(zeros(MAX_JSON_VALUES - 1))).toBeUndefined();
    expect(excessOf(zeros(MAX_JSON_VALUES))).toBe('has more than 20000 values');
    const members = (count: number) =>
      `{${Array.from({ length: count }, (_, index) => `"v${index}" : [ ] `).join()}}`;
    expect(excessOf(members(MAX_JSON_VALUES - 1))).toBeUndefined();
    expect(excessOf(members(MAX_JSON_VALUES))).toBe('has more than 20000 values');
    expect(excessOf(nested(MAX_JSON_LEVELS))).toBeUndefined();
    expect(excessOf(nested(MAX_JSON_LEVELS + 1))).toBe('is nested more than 64 levels deep');
    expect(excessOf(`{"a":${nested(MAX_JSON_LEVELS)}}`)).toBe('is nested more than 64 levels deep');
  });

  it('say nothing of what stands in strings', () => {
    for (const text of [',[{'.repeat(50_000), '\\', '"', '\\"[', '\\\\'.repeat(99), ''])
      expect(excessOf(JSON.stringify({ a: text, [text]: [text, { b: text }] }))).toBeUndefined();
  });

  it('agree with counting the values of any JSON text, however it is spaced', () => {
    fc.assert(
      fc.property(
        fc.json({ maxDepth: 5 }),
        fc.integer({ min: 0, max: 4 }),
        fc.integer({ min: MAX_JSON_VALUES - 40, max: MAX_JSON_VALUES }),
        (text, indent, padding) => {
          const value: unknown = JSON.parse(text);
          const padded = [value, ...Array.from({ length: padding }, () => 0)];
          const excess = measure(padded).values > MAX_JSON_VALUES;
          expect(excessOf(JSON.stringify(padded, undefined, indent)) !== undefined).toBe(excess);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('end with any text, valid or not', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('"', '\\', '[', '{', ']', '}', ',', ':', '1', ' ') }),
        (text) => {
          expect(() => excessOf(text)).not.toThrow();
        },
      ),
    );
  });
});
