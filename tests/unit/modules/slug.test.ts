import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSlug, slugCandidates } from '../../../src/schema/post/slug.ts';

const RULE = { min: 1, max: 80 };
const slugOf = (title: string) => slugCandidates(title, RULE)[0];

describe('The slug of a title', () => {
  it.each([
    ['Notes on the Analytical Engine', 'notes-on-the-analytical-engine'],
    ['  Hello,   World!  ', 'hello-world'],
    ['Don’t panic, it’s 42', 'dont-panic-its-42'],
    ['Crème brûlée à la façon de Zoë', 'creme-brulee-a-la-facon-de-zoe'],
    ['Straße, Ærø, Łódź, Þingvellir, İstanbul', 'strasse-aero-lodz-thingvellir-istanbul'],
    ['Война и мир', 'voina-i-mir'],
    ['Το ταξίδι', 'to-taxidi'],
    ['ﬁne ①②③ ™', 'fine-123-tm'],
    ['soft\u00adhyphen and zero\u200bwidth', 'softhyphen-and-zerowidth'],
    ['C++ & C#', 'c-c'],
    ['東京', 'post'],
    ['🎉', 'post'],
    ['---', 'post'],
    ['0192F0C1-0000-7000-8000-000000000000', 'post-0192f0c1-0000-7000-8000-000000000000'],
  ])('%j is %s', (title, slug) => {
    expect(slugOf(title)).toBe(slug);
  });

  it('leaves room for a suffix, and does not end with a hyphen where it is cut', () => {
    expect(slugOf('x'.repeat(200))).toBe('x'.repeat(73));
    expect(slugOf(`${'x'.repeat(72)} y`)).toBe('x'.repeat(72));
  });

  it('is followed by three numbers and a random suffix', () => {
    const [first, second] = [slugCandidates('A', RULE), slugCandidates('A', RULE)];
    expect(first.slice(0, 4)).toEqual(['a', 'a-2', 'a-3', 'a-4']);
    expect(first[4]).toMatch(/^a-[a-z0-9]{6}$/);
    expect(second[4]).not.toBe(first[4]);
  });

  it('is a slug, whatever the title', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (title) => {
        for (const slug of slugCandidates(title, RULE)) expect(isSlug(slug, RULE)).toBe(true);
      }),
    );
  });
});
