import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MULTIPART_FORMAT } from '../../../src/http/response/event-stream-formats.ts';
import { MultipartParser } from '../../support/streams/multipart-parser.ts';

const ids = fc.stringMatching(/^[\w-]{1,60}$/);

/** Texts that look like what frames them. */
const hostile = fc.array(
  fc.oneof(
    fc.constantFrom(
      '\r\n',
      '--graphql',
      '--',
      '\\',
      '"',
      '{}',
      '}}',
      '"extensions":{',
      '\\u002d',
      '\u2028',
      '🐢',
    ),
    fc.string({ unit: 'binary', maxLength: 5 }),
  ),
);
const text = hostile.map((parts) => parts.join(''));
const errors = fc.array(fc.record({ message: text, extensions: fc.dictionary(text, text) }), {
  minLength: 1,
});

/** A response as textOf writes it: with errors and extensions or without. */
const response = fc
  .record(
    {
      errors,
      data: fc.option(fc.dictionary(fc.constantFrom('a', 'extensions', '__proto__'), fc.oneof(text, errors))),
      extensions: fc.dictionary(fc.constantFrom('cost', 'other', 'eventId'), fc.oneof(text, fc.nat())),
    },
    { requiredKeys: [] },
  )
  .filter((it) => Object.keys(it).length > 0);

/** The text in pieces, as a network may cut it. */
function pieces(whole: string, cuts: readonly number[]): string[] {
  const places = [0, ...cuts.map((cut) => cut % (whole.length + 1)).sort((a, b) => a - b), whole.length];
  return places.slice(1).map((place, n) => whole.slice(places[n], place));
}

describe('a stream in the multipart protocol', () => {
  it('has one part for each event, with its id among the extensions, whatever the response says', () => {
    const events = fc.array(fc.record({ id: ids, response }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(events, fc.array(fc.nat(), { maxLength: 5 }), (given, cuts) => {
        const texts = given.map(({ id, response: it }) => ({ id, text: JSON.stringify(it) }));
        const { opening, events: write, heartbeat } = MULTIPART_FORMAT;
        const last = MULTIPART_FORMAT.last('{"errors":[]}', 'position');
        const wire = Buffer.concat(
          [opening('start'), write(texts), heartbeat, last].map(({ bytes }) => bytes),
        );
        const parser = new MultipartParser();
        const parts = pieces(wire.toString(), cuts).flatMap((piece) => parser.take(piece));
        expect(parser.closed).toBe(true);
        expect(parts.map(({ payload }) => payload)).toEqual([
          undefined,
          ...texts.map(({ id, text: json }) => {
            const { extensions, ...rest } = JSON.parse(json);
            return { ...rest, extensions: { ...extensions, eventId: id } };
          }),
          undefined,
          { errors: [], extensions: { eventId: 'position' } },
        ]);
      }),
      { numRuns: 300 },
    );
  });

  it('takes a response with white space around its tokens', () => {
    const parser = new MultipartParser();
    const { bytes } = MULTIPART_FORMAT.events([{ id: 'a', text: '{ "data" : { "b" : 1 } } ' }]);
    parser.take(MULTIPART_FORMAT.opening('start').bytes.toString());
    expect(parser.take(bytes.toString()).map(({ payload }) => payload)).toEqual([
      { data: { b: 1 }, extensions: { eventId: 'a' } },
    ]);
  });
});
