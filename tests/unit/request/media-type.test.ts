import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MULTIPART } from '../../../src/engine/documents/operation-request.ts';
import { negotiate } from '../../../src/http/negotiate.ts';

const JSON_TYPE = 'application/json';
const GRAPHQL = 'application/graphql-response+json';
const STREAM = 'text/event-stream';
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8';

const single = (accept: string | null) => negotiate(accept).single;
const stream = (accept: string) => negotiate(accept).stream;

describe('the type of a single response', () => {
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
    expect(single(accept)).toBe(expected);
  });

  it.each([
    'image/png',
    'text/html',
    `${JSON_TYPE};q=0`,
    `${JSON_TYPE}; charset=iso-8859-1`,
    'application',
    ',',
  ])('finds nothing acceptable in "%s"', (accept) => {
    expect(negotiate(accept)).toMatchObject({ single: undefined, stream: undefined });
  });

  it('never throws, and offers what it can or nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (accept) => {
        expect([JSON_TYPE, GRAPHQL, STREAM, undefined]).toContain(single(accept));
        expect([STREAM, MULTIPART, undefined]).toContain(stream(accept));
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
        expect(single(accept)).toBe(best?.type);
      }),
    );
  });
});

describe('the type of the stream of a subscription', () => {
  it.each([
    [STREAM, STREAM],
    ['text/*', STREAM],
    ['application/*;q=0, */*', STREAM],
    [`${JSON_TYPE}, ${STREAM};q=0.1`, STREAM],
    ['multipart/mixed;boundary="a,b;c\\"";subscriptionSpec=1.0', MULTIPART],
    ['multipart/mixed;deferSpec=20220824, multipart/mixed;subscriptionSpec=1.0', MULTIPART],
    ['*/*, multipart/mixed;subscriptionSpec=1.0;q=0.1', MULTIPART],
  ])('for "%s" is %s', (accept, expected) => {
    expect(stream(accept)).toBe(expected);
  });

  it.each([
    '*/*',
    JSON_TYPE,
    `${JSON_TYPE}, */*`,
    'multipart/*',
    'multipart/mixed',
    'multipart/mixed;deferSpec=20220824',
    'multipart/mixed;subscriptionSpec=1.1',
    'multipart/mixed;boundary="subscriptionSpec=1.0"',
    'multipart/mixed;boundary=";subscriptionSpec=1.0"',
    `${MULTIPART};q=0`,
    `${STREAM};q=0`,
    BROWSER,
  ])('for "%s" there is none', (accept) => {
    expect(stream(accept)).toBeUndefined();
  });

  it.each([MULTIPART, 'multipart/mixed', 'multipart/*'])(
    'is no type for a single response: "%s"',
    (accept) => {
      expect(single(accept)).toBeUndefined();
    },
  );

  it('is the one of the greater weight, and Server-Sent Events of equal ones, whatever else is accepted', () => {
    const weights = fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 3 }));
    const spelling = fc.constantFrom(
      'multipart/mixed;subscriptionSpec=1.0',
      'multipart/mixed; boundary=graphql; subscriptionSpec="1.0"',
      'Multipart/Mixed;SUBSCRIPTIONSPEC=1.0;boundary="-,-"',
    );
    const others = fc.subarray([
      JSON_TYPE,
      `${GRAPHQL};q=0.9`,
      'image/png',
      'multipart/mixed;deferSpec=20220824',
    ]);
    fc.assert(
      fc.property(
        weights,
        spelling,
        others,
        fc.infiniteStream(fc.nat()),
        ([events, multipart], name, rest, order) => {
          const parts = [`${STREAM};q=0.${events}`, `${name};q=0.${multipart}`, ...rest]
            .map((part) => ({ part, at: order.next().value ?? 0 }))
            .sort((a, b) => a.at - b.at);
          const wanted = multipart > events ? MULTIPART : events > 0 ? STREAM : undefined;
          expect(stream(parts.map(({ part }) => part).join(', '))).toBe(wanted);
        },
      ),
    );
  });
});

describe('a page', () => {
  it.each([BROWSER, 'text/html', 'application/json;q=0.5, text/html'])('is preferred by "%s"', (accept) => {
    expect(negotiate(accept).html).toBe(true);
  });

  it.each([
    null,
    '',
    '*/*',
    'application/json',
    'text/html;q=0',
    'application/json, text/html;q=0.5',
    STREAM,
  ])('is not preferred by "%s"', (accept) => {
    expect(negotiate(accept).html).toBe(false);
  });
});
