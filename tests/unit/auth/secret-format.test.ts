import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { API_KEY } from '../../../src/auth/api-keys.ts';
import { secretFormat } from '../../../src/auth/secrets.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_PART = [4, 34] as const;

const key = fc.constant(undefined).map(API_KEY.generate);
const otherCharacter = fc.constantFrom(...ALPHABET, '-', ' ', 'é');

describe('an API key', () => {
  it('has a recognisable prefix and is well-formed', () => {
    fc.assert(
      fc.property(key, (made) => {
        expect(made).toMatch(/^cga_[0-9A-Za-z]{36}$/);
        expect(API_KEY.looksLike(made)).toBe(true);
        expect(API_KEY.isWellFormed(made)).toBe(true);
      }),
    );
  });

  it('has at least 160 random bits, from an alphabet of which no part is left out or preferred', () => {
    expect((RANDOM_PART[1] - RANDOM_PART[0]) * Math.log2(ALPHABET.length)).toBeGreaterThan(160);
    const counts = new Map<string, number>();
    const keys = 2_000;
    for (let i = 0; i < keys; i += 1) {
      for (const character of API_KEY.generate().slice(...RANDOM_PART))
        counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    expect([...counts.keys()].sort().join('')).toBe([...ALPHABET].sort().join(''));
    const expected = (keys * 30) / ALPHABET.length;
    const chiSquared = [...counts.values()].reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0);
    // 61 degrees of freedom: a fair alphabet passes 140 once in ten million runs, a modulo bias of 256 goes far past.
    expect(chiSquared).toBeLessThan(140);
  });

  it('is malformed with any other character in any place', () => {
    fc.assert(
      fc.property(key, fc.nat({ max: 39 }), otherCharacter, (made, at, character) => {
        fc.pre(made[at] !== character);
        expect(API_KEY.isWellFormed(made.slice(0, at) + character + made.slice(at + 1))).toBe(false);
      }),
    );
  });

  it('is malformed with two neighbours swapped, with less or with more', () => {
    fc.assert(
      fc.property(key, fc.integer({ min: 4, max: 38 }), (made, at) => {
        fc.pre(made[at] !== made[at + 1]);
        const swapped = made.slice(0, at) + made[at + 1] + made[at] + made.slice(at + 2);
        expect(API_KEY.isWellFormed(swapped)).toBe(false);
      }),
    );
    const made = API_KEY.generate();
    for (const text of [
      '',
      'cga_',
      made.slice(0, -1),
      `${made}0`,
      ` ${made}`,
      `${made}\n`,
      made.toUpperCase(),
    ])
      expect(API_KEY.isWellFormed(text)).toBe(false);
  });

  it('is not seen in any other text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(API_KEY.isWellFormed(text)).toBe(false);
      }),
    );
  });
});

describe('a secret whose prefix has changed', () => {
  it('is well-formed with either, but new ones have the new prefix', () => {
    const renamed = secretFormat('new_', 'old_');
    const old = secretFormat('old_').generate();
    const made = renamed.generate();
    expect(made).toMatch(/^new_/);
    expect([old, made, `other_${made.slice(4)}`].map(renamed.isWellFormed)).toEqual([true, true, false]);
    expect(renamed.isWellFormed(`${old.slice(0, -1)}${old.endsWith('0') ? '1' : '0'}`)).toBe(false);
  });
});
