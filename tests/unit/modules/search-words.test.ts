import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CONTENT_LIMITS } from '../../../src/schema/content-limits.ts';
import { parseQuery } from '../../../src/schema/search/query.ts';
import { buildDocument, wordsOf } from '../../../src/schema/search/words.ts';

const BODY = 50_000;
const every = (count: number, character: (index: number) => number) =>
  Array.from({ length: count }, (_, index) => String.fromCodePoint(character(index))).join('');
const fill = (piece: string) => piece.repeat(Math.ceil(BODY / piece.length)).slice(0, BODY);

/** Bodies that take PostgreSQL's parser, a regular expression or a table of words long. */
const HOSTILE: Readonly<Record<string, string>> = {
  'words and separators': fill('a_'),
  'one word': fill('x'),
  'distinct words': fill(every(BODY, (index) => 97 + ((index * 7_919) % 26)).replaceAll(/(.{3})/g, '$1 ')),
  'distinct pairs': every(BODY, (index) => 0x4e00 + ((index * 7_919) % 20_000)),
  'pairs of surrogates': every(BODY, (index) => 0x2_0000 + ((index * 7_919) % 40_000)),
  'marks without letters': fill('\u0301 '),
  'a letter with marks': fill('a').slice(0, 1) + fill('\u0301').slice(1),
  'a character that stands for eighteen': fill('\ufdfa'),
  'words of such characters': fill('\ufdfa '),
  'characters of two': fill('ガ'),
  emoji: fill('🚀'),
  quotes: fill('"\'~\\'),
};

/** The longest CPU time of this thread between two iterations of the event loop while the work runs. */
async function longestStepMs(work: () => Promise<unknown>): Promise<number> {
  const cpuMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let [longest, last, isRunning] = [0, cpuMs(), true];
  const tick = () => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
    if (isRunning) setImmediate(tick);
  };
  setImmediate(tick);
  await work();
  isRunning = false;
  await new Promise(setImmediate);
  return longest;
}

describe('A document of the search index', () => {
  it.each(Object.entries(HOSTILE))('of %s lets other work run within 50 ms', async (_name, body) => {
    const build = () => buildDocument({ title: 'Title', body, authorId: 'a', tags: [] });
    // The first call also compiles.
    await build();
    expect(await longestStepMs(build)).toBeLessThan(50);
    const { text } = await build();
    expect(Buffer.byteLength(text)).toBeLessThan(1_500_000);
  });

  it('has words of letters, numbers and marks only, whatever the text is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 600 }), (text) => {
        for (const word of [...wordsOf(text)].flat()) {
          expect(word).toMatch(/^[\p{L}\p{N}\p{M}]+$/u);
          expect([...word].length).toBeLessThanOrEqual(64);
        }
      }),
    );
  });

  it('has the words of each query that is a piece of its text', () => {
    const query = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(query, fc.string({ unit: 'grapheme' }), (piece, rest) => {
        const words = new Set([...wordsOf(`${rest} ${piece} ${rest}`)].flat());
        const { words: terms } = parseQuery(
          piece.replaceAll(/["*-]/g, ' '),
          {},
          { query: { min: 0, max: 200 }, maxWords: 50 },
        );
        for (const [, word = '', star] of terms?.matchAll(/'~([^']+)'(:\*)?/g) ?? [])
          expect(star === undefined ? words.has(word) : [...words].some((one) => one.startsWith(word))).toBe(
            true,
          );
      }),
    );
  });

  it('has no position that a phrase cannot have, from the title into the body or after the last one', async () => {
    const { text } = await buildDocument({ title: 'a b', body: 'c', authorId: 'x', tags: ['é'] });
    expect(text).toBe("'~=' '~@x' '~#c3a9' '~a':1 '~b':2 '~c':4");
    const long = await buildDocument({ title: 't', body: `${fill('a ')}last`, authorId: 'x', tags: [] });
    expect(long.text).toMatch(/'~last'$/);
    expect(/'~a':([\d,]+)/.exec(long.text)?.[1]?.split(',')).toHaveLength(255);
  });
});

describe('A query', () => {
  const parse = (query: string) => parseQuery(query, {}, CONTENT_LIMITS.search);

  it.each([
    ['Hello World', "'~hello' & '~world'", null],
    ['"a phrase" -not', "'~a' & '~phrase' & !'~not'", "('~a' <-> '~phrase')"],
    ['wor* ab*', "'~wor':* & '~ab'", null],
    ['-only', "!'~only' & '~='", null],
    ['-node.js', "'~='", "!('~node' <-> '~js')"],
    ['東京都', "'~東京' & '~京都'", "('~東京' <-> '~京都')"],
    ['東', "'~東':*", null],
    ['" -"', null, null],
  ])('of %j is %j with the phrases %j', (query, words, phrases) => {
    expect(parse(query)).toMatchObject({ words, phrases });
  });

  it('searches fewer buckets with a prefix', () => {
    expect(parse('word').buckets).toBeGreaterThan(parse('word*').buckets);
  });
});
