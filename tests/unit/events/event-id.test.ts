import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CommittedBeforeStart } from '../../../src/events/committed-before-start.ts';
import { decodeEventId, encodeEventId } from '../../../src/events/event-id.ts';

const number = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const place = fc.record({
  generation: fc
    .uint8Array({ minLength: 8, maxLength: 8 })
    .map((bytes) => Buffer.from(bytes).toString('hex')),
  xid: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  id: number,
  early: fc.array(
    fc.tuple(
      fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER - 2 ** 32 }),
      fc.integer({ min: 1, max: 2 ** 32 - 1 }),
    ),
    { maxLength: 5 },
  ),
});

describe('event ids', () => {
  it('stand for a place', () => {
    fc.assert(
      fc.property(place, (at) => {
        expect(decodeEventId(encodeEventId(at))).toEqual(at);
      }),
    );
  });

  it('go into a header and a line of an event stream as they are', () => {
    fc.assert(
      fc.property(place, (at) => {
        expect(encodeEventId(at)).toMatch(/^[\w-]+$/);
      }),
    );
  });

  it('are no other strings', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(decodeEventId(text)).toBeUndefined();
      }),
    );
    fc.assert(
      fc.property(place, fc.nat(), fc.integer({ min: 1, max: 255 }), (at, index, change) => {
        const bytes = Buffer.from(encodeEventId(at), 'base64url');
        const target = index % bytes.length;
        bytes[target] = (bytes[target] ?? 0) ^ change;
        expect(decodeEventId(bytes.toString('base64url'))).toBeUndefined();
      }),
    );
  });
});

describe('EarlyEvents', () => {
  const ids = fc.uniqueArray(fc.integer({ min: 1, max: 80 }), { maxLength: 30 });

  it('lets each of its events pass once, in any order, and no other', () => {
    fc.assert(
      fc.property(ids, fc.array(fc.integer({ min: 1, max: 80 })), (early, met) => {
        const events = CommittedBeforeStart.of(early.toSorted((a, b) => a - b));
        const left = new Set(early);
        for (const id of met) {
          expect(events.pass(id)).toBe(left.delete(id));
          const again = new CommittedBeforeStart(events.runs);
          expect([...left].every((other) => again.pass(other))).toBe(true);
          expect(again.runs).toEqual([]);
        }
      }),
    );
  });

  it('stays small: past so many gaps it delivers rather than loses', () => {
    const events = CommittedBeforeStart.of(Array.from({ length: 1_000 }, (_, index) => index * 2));
    expect(events.runs.length).toBeLessThan(100);
    expect(events.pass(0)).toBe(true);
    expect(events.pass(1_998)).toBe(false);
  });
});
