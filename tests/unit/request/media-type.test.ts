import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { negotiate, wantsHtml } from '../../../src/request/media-type.ts';

const JSON_TYPE = 'application/json';
const GRAPHQL = 'application/graphql-response+json';
const STREAM = 'text/event-stream';
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8';

describe('negotiate', () => {
  it.each([
    [null, JSON_TYPE],
    ['', JSON_TYPE],
    ['*/*', JSON_TYPE],
    ['application/*', JSON_TYPE],
    ['text/*', STREAM],
    [JSON_TYPE, JSON_TYPE],
    [GRAPHQL, GRAPHQL],
    [STREAM, STREAM],
    ['Application/JSON', JSON_TYPE],
    ['application/json; charset=utf-8', JSON_TYPE],
    ['application/json; charset="UTF-8"', JSON_TYPE],
    // The first of equal weight counts.
    [`${GRAPHQL}, ${JSON_TYPE}`, GRAPHQL],
    [`${JSON_TYPE}, ${GRAPHQL}`, JSON_TYPE],
    // What a GraphQL client over HTTP sends.
    [`${GRAPHQL}; charset=utf-8, ${JSON_TYPE}; charset=utf-8`, GRAPHQL],
    [`${JSON_TYPE};q=0.5, ${GRAPHQL};q=0.9`, GRAPHQL],
    [`${JSON_TYPE};q=0, */*;q=0.1`, GRAPHQL],
    [`image/png, ${GRAPHQL};q=0.1`, GRAPHQL],
    [BROWSER, JSON_TYPE],
  ] as const)('answers "%s" with %s', (accept, expected) => {
    expect(negotiate(accept)).toBe(expected);
  });

  it.each([
    'image/png',
    'text/html',
    `${JSON_TYPE};q=0`,
    `${JSON_TYPE}; charset=iso-8859-1`,
    'application',
    ',',
  ])('finds nothing acceptable in "%s"', (accept) => {
    expect(negotiate(accept)).toBeUndefined();
  });

  it('never throws, and offers what it can or nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (accept) => {
        expect([JSON_TYPE, GRAPHQL, STREAM, undefined]).toContain(negotiate(accept));
      }),
    );
  });

  it('takes the type of the highest weight', () => {
    const weights = fc.uniqueArray(fc.integer({ min: 1, max: 1000 }), { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(weights, (numbers) => {
        const offers = [JSON_TYPE, GRAPHQL, STREAM].map((type, at) => ({ type, q: numbers[at] ?? 0 }));
        const [best] = [...offers].sort((a, b) => b.q - a.q);
        const accept = offers.map(({ type, q }) => `${type};q=${q / 1000}`).join(', ');
        expect(negotiate(accept)).toBe(best?.type);
      }),
    );
  });
});

describe('wantsHtml', () => {
  it.each([BROWSER, 'text/html', 'application/json;q=0.5, text/html'])('is true of "%s"', (accept) => {
    expect(wantsHtml(accept)).toBe(true);
  });

  it.each([
    null,
    '',
    '*/*',
    'application/json',
    'text/html;q=0',
    'application/json, text/html;q=0.5',
    STREAM,
  ])('is false of "%s"', (accept) => {
    expect(wantsHtml(accept)).toBe(false);
  });
});
