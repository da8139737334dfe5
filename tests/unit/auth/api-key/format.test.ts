import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  generateApiKey,
  hashApiKey,
  isWellFormedApiKey,
  looksLikeApiKey,
  shownPrefix,
} from '../../../../src/auth/api-key/format.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_PART = [4, 34] as const;

const key = fc.constant(undefined).map(generateApiKey);
const otherCharacter = fc.constantFrom(...ALPHABET, '-', ' ', 'é');

describe('an API key', () => {
  it('has a recognisable prefix and is well-formed', () => {
    fc.assert(
      fc.property(key, (made) => {
        expect(made).toMatch(/^cga_[0-9A-Za-z]{36}$/);
        expect(looksLikeApiKey(made)).toBe(true);
        expect(isWellFormedApiKey(made)).toBe(true);
      }),
    );
  });

  it('has at least 160 random bits, from an alphabet of which no part is left out or preferred', () => {
    expect((RANDOM_PART[1] - RANDOM_PART[0]) * Math.log2(ALPHABET.length)).toBeGreaterThan(160);
    const counts = new Map<string, number>();
    const keys = 2_000;
    for (let i = 0; i < keys; i += 1) {
      for (const character of generateApiKey().slice(...RANDOM_PART))
        counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    expect([...counts.keys()].sort().join('')).toBe([...ALPHABET].sort().join(''));
    const expected = (keys * 30) / ALPHABET.length;
    const chiSquared = [...counts.values()].reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0);
    // 61 degrees of freedom: a fair alphabet passes 140 once in ten million runs, a modulo bias of 256 goes far past.
    expect(chiSquared).toBeLessThan(140);
  });

  it('never comes twice', () => {
    expect(new Set(Array.from({ length: 10_000 }, generateApiKey)).size).toBe(10_000);
  });

  it('is malformed with any other character in any place', () => {
    fc.assert(
      fc.property(key, fc.nat({ max: 39 }), otherCharacter, (made, at, character) => {
        fc.pre(made[at] !== character);
        expect(isWellFormedApiKey(made.slice(0, at) + character + made.slice(at + 1))).toBe(false);
      }),
    );
  });

  it('is malformed with two neighbours swapped, with less or with more', () => {
    fc.assert(
      fc.property(key, fc.integer({ min: 4, max: 38 }), (made, at) => {
        fc.pre(made[at] !== made[at + 1]);
        const swapped = made.slice(0, at) + made[at + 1] + made[at] + made.slice(at + 2);
        expect(isWellFormedApiKey(swapped)).toBe(false);
      }),
    );
    const made = generateApiKey();
    for (const text of [
      '',
      'cga_',
      made.slice(0, -1),
      `${made}0`,
      ` ${made}`,
      `${made}\n`,
      made.toUpperCase(),
    ])
      expect(isWellFormedApiKey(text)).toBe(false);
  });

  it('is not seen in any other text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(isWellFormedApiKey(text)).toBe(false);
      }),
    );
  });

  it('has a hash that is always the same, and another for another key', () => {
    fc.assert(
      fc.property(key, key, (a, b) => {
        expect(hashApiKey(a)).toEqual(hashApiKey(a));
        expect(hashApiKey(a)).toHaveLength(32);
        expect(hashApiKey(a)).not.toEqual(hashApiKey(b));
      }),
    );
  });

  it('shows six of its random characters to be recognised by', () => {
    const made = generateApiKey();
    expect(shownPrefix(made)).toBe(made.slice(0, 10));
  });
});
