import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cookiesNamed } from '../../../src/auth/authenticate.ts';

const NAMES = ['session_id', '__Host-oauth_browser'] as const;
/** Around a name: nothing, what RFC 6265 trims, what only others would trim, and what makes it another name. */
const spaces = fc.string({ unit: fc.constantFrom(' ', '\t'), maxLength: 3 });
const strange = fc.string({
  unit: fc.constantFrom('\xa0', '\x85', '\v', '\f', '\0', '\x1c', '\xad', '\xc2', '"', '(', ',', '/', ' '),
  minLength: 1,
  maxLength: 3,
});
const letters = fc.string({ unit: fc.constantFrom('x', '-', '_', '0', '.'), minLength: 1, maxLength: 2 });
const values = fc.string({ unit: fc.constantFrom('a', '9', '-', '=', '"', '\xa0'), maxLength: 5 });

interface Pair {
  readonly kind: 'exact' | 'alike' | 'other';
  readonly text: string;
  readonly value: string;
}

/** A pair of the header, and what its name is. */
function pairs(name: string): fc.Arbitrary<Pair> {
  const pair = (kind: Pair['kind'], names: fc.Arbitrary<string>) =>
    fc
      .tuple(names, values, spaces)
      .map(([sent, value, space]) => ({ kind, text: `${sent}=${space}${value}`, value }));
  const around = (sides: fc.Arbitrary<string>, as = name) =>
    fc.tuple(sides, fc.boolean()).map(([side, first]) => (first ? side + as : as + side));
  return fc.oneof(
    pair('exact', around(spaces)),
    pair(
      'alike',
      around(strange).filter((sent) => sent.trim() !== name || /[^ \w-]/.test(sent)),
    ),
    pair('alike', fc.constantFrom(name.toUpperCase(), `${name.slice(0, -1)}${name.at(-1)?.toUpperCase()}`)),
    pair('other', around(letters)),
    pair('other', fc.constantFrom('', 'theme', name.slice(1), `${name.slice(0, 4)} ${name.slice(4)}`)),
  );
}

describe('the cookies of a name', () => {
  it.each(NAMES)('%s are those of exactly this name, and beside one all that pass for it', (name) => {
    fc.assert(
      fc.property(fc.array(pairs(name), { maxLength: 6 }), (sent) => {
        const meant = sent.filter(({ kind }) => kind !== 'other');
        const found = meant.some(({ kind }) => kind === 'exact') ? meant.map(({ value }) => value) : [];
        const header = sent.map(({ text }) => text).join(';');
        expect(cookiesNamed(header, name)).toEqual(found);
      }),
    );
  });

  it('are none where there is no header', () => {
    expect(cookiesNamed(null, 'session_id')).toEqual([]);
    expect(cookiesNamed('', 'session_id')).toEqual([]);
  });

  it('are found in time that grows with the header alone', () => {
    const long = `session_id${'\xa0'.repeat(4_000_000)}x=1; ${' '.repeat(4_000_000)}session_id=2`;
    expect(cookiesNamed(long, 'session_id')).toEqual(['2']);
  });
});
