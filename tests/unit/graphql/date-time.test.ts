import fc from 'fast-check';
import { GraphQLError } from 'graphql';
import { describe, expect, it } from 'vitest';
import { parseDateTime } from '../../../src/engine/builder/builder.ts';

const iso = (text: string) => parseDateTime(text).toISOString();

describe('DateTime', () => {
  it.each([
    ['2026-11-21T09:30:00Z', '2026-11-21T09:30:00.000Z'],
    // RFC 3339 section 5.6: "T" and "Z" may be lower case.
    ['2026-11-21t09:30:00z', '2026-11-21T09:30:00.000Z'],
    ['2026-11-21T09:30:00+02:00', '2026-11-21T07:30:00.000Z'],
    ['2026-11-21T09:30:00-05:30', '2026-11-21T15:00:00.000Z'],
    ['2026-01-01T00:00:00+23:59', '2025-12-31T00:01:00.000Z'],
    // Section 4.3: an unknown local offset.
    ['2026-11-21T09:30:00-00:00', '2026-11-21T09:30:00.000Z'],
    ['2026-11-21T09:30:00.1Z', '2026-11-21T09:30:00.100Z'],
    ['2026-11-21T09:30:00.123Z', '2026-11-21T09:30:00.123Z'],
    // Digits beyond milliseconds are cut, not rounded: nothing moves into the future.
    ['2026-11-21T09:30:59.999999999Z', '2026-11-21T09:30:59.999Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000Z'],
    ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999+00:01', '9999-12-31T23:58:59.999Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['0099-12-31T00:00:00Z', '0099-12-31T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('takes %s', (text, expected) => {
    expect(iso(text)).toBe(expected);
  });

  it.each([
    '',
    '2026-11-21',
    '2026-11-21T09:30Z',
    '2026-11-21T09:30:00',
    '2026-11-21 09:30:00Z',
    '2026-11-21T09:30:00.Z',
    '2026-11-21T09:30:00,5Z',
    '2026-11-21T09:30:00+0200',
    '2026-11-21T09:30:00+02',
    '2026-11-21T9:30:00Z',
    '26-11-21T09:30:00Z',
    '+002026-11-21T09:30:00Z',
    '12026-11-21T09:30:00Z',
    ' 2026-11-21T09:30:00Z',
    '2026-11-21T09:30:00Z\n',
    '2026-325T09:30:00Z',
    'Sat, 21 Nov 2026 09:30:00 GMT',
    'now',
    '２０２６-11-21T09:30:00Z',
    // RFC 3339 has years from 0000 to 9999: an offset may lead out of them.
    '9999-12-31T23:59:59.999-00:01',
    '9999-12-31T20:00:00-12:00',
    '0000-01-01T00:00:00+00:01',
  ])('rejects what is of another form or outside of the calendar: "%s"', (text) => {
    expect(() => parseDateTime(text)).toThrow(GraphQLError);
  });

  it.each([
    '2026-00-01T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-32T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T00:00:60Z',
    '2016-12-31T23:59:60Z',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01T00:00:00+00:60',
  ])('rejects what does not exist: %s', (text) => {
    expect(() => parseDateTime(text)).toThrow(/does not exist/);
  });

  it.each([[null], [undefined], [0], [1_790_000_000_000], [true], [{}], [[]], [new Date()]])(
    'rejects what is no string: %s',
    (value) => {
      expect(() => parseDateTime(value)).toThrow(GraphQLError);
    },
  );

  it('takes every instant as it prints it, under every offset', () => {
    const instant = fc.date({
      min: new Date('0001-01-02T00:00:00.000Z'),
      max: new Date('9999-12-30T00:00:00.000Z'),
      noInvalidDate: true,
    });
    const offset = fc.integer({ min: -1439, max: 1439 });
    fc.assert(
      fc.property(instant, offset, (date, minutes) => {
        expect(parseDateTime(date.toISOString())).toEqual(date);
        const local = new Date(date.getTime() + minutes * 60_000).toISOString().slice(0, -1);
        const size = Math.abs(minutes);
        const two = (n: number) => String(n).padStart(2, '0');
        const zone = `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
        expect(parseDateTime(local + zone)).toEqual(date);
      }),
    );
  });

  it('never gives an invalid date', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/),
        (text) => {
          let date: Date;
          try {
            date = parseDateTime(text);
          } catch (error) {
            expect(error).toBeInstanceOf(GraphQLError);
            return;
          }
          expect(date.getTime()).not.toBeNaN();
        },
      ),
    );
  });
});
