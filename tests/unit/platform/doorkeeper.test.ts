import { describe, expect, it } from 'vitest';
import { Doorkeeper } from '../../../src/platform/cache.ts';

describe('What was seen before', () => {
  it('is a text that comes again', () => {
    const seen = new Doorkeeper();
    expect(['{ a }', '{ b }', '{ a }', '{ a }', '', ''].map((text) => seen.see(text))).toEqual([
      ...[false, false, true, true, false, true],
    ]);
  });

  it('is hardly ever a text that is new, and nearly always one that came a thousand texts ago', () => {
    const seen = new Doorkeeper();
    const texts = Array.from({ length: 1_000 }, (_, n) => `query N${n} { posts(limit: ${n}) { id } }`);
    expect(texts.filter((text) => seen.see(text)).length).toBeLessThan(5);
    expect(texts.filter((text) => seen.see(text)).length).toBeGreaterThan(750);
  });
});
