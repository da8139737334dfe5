import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeEventId,
  encodeEventId,
  eventChecksum,
  type LogEvent,
  MAX_RUNNING,
  pass,
  type ReaderPosition,
} from '../../../src/engine/events/event.ts';

const number = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const checksum = fc
  .uint8Array({ minLength: 10, maxLength: 10 })
  .map((bytes) => Buffer.from(bytes).toString('hex'));
const xid = fc.bigInt({ min: 3n, max: 2n ** 63n - 1n });
const position = fc.record({ logEpoch: fc.nat({ max: 32_767 }), xid, id: number, checksum });
const before = fc
  .tuple(position, fc.uniqueArray(fc.bigInt({ min: 1n, max: 10_000n }), { minLength: 1, maxLength: 20 }))
  .map(([last, back]) => ({
    ...last,
    xid: last.xid + 10_000n,
    running: back.toSorted((a, b) => Number(a - b)).map((distance) => last.xid + 10_000n - distance),
  }));
const readerPosition: fc.Arbitrary<ReaderPosition> = fc
  .tuple(position, fc.option(before, { nil: undefined }))
  .map(([at, committed]) => ({ generation: 'h', ...at, before: committed }));

/** The distances of the transactions that an id names. */
const distancesOf = ({ before: committed }: ReaderPosition) =>
  committed?.running.map((running, index, all) => (all[index - 1] ?? committed.xid) - running);

describe('event ids', () => {
  it('name the event of a position, and what was committed before the reader came', () => {
    fc.assert(
      fc.property(readerPosition, (at) => {
        const last = at.before;
        expect(decodeEventId(encodeEventId(at))).toEqual({
          event: { id: at.id, checksum: at.checksum },
          before: last && { event: { id: last.id, checksum: last.checksum }, distances: distancesOf(at) },
        });
      }),
    );
  });

  it('go into a header and a line of an event stream as they are', () => {
    fc.assert(
      fc.property(readerPosition, (at) => {
        expect(encodeEventId(at)).toMatch(/^[\w-]+$/);
      }),
    );
  });

  it('are short, however many transactions were running', () => {
    const at = fc.sample(readerPosition, { numRuns: 1, seed: 1 })[0] as ReaderPosition;
    const running = Array.from({ length: MAX_RUNNING }, (_, index) => 2_000n - BigInt(index));
    const busy = { ...at, before: { logEpoch: 1, xid: 2_001n, id: 1, checksum: at.checksum, running } };
    expect(encodeEventId({ ...at, before: undefined })).toHaveLength(28);
    expect(encodeEventId(busy).length).toBeLessThan(1_500);
  });

  it('are no other strings', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(decodeEventId(text)).toBeUndefined();
      }),
    );
    fc.assert(
      fc.property(readerPosition, fc.nat(), fc.integer({ min: 1, max: 255 }), (at, index, change) => {
        const bytes = Buffer.from(encodeEventId(at), 'base64url');
        const target = index % bytes.length;
        bytes[target] = (bytes[target] ?? 0) ^ change;
        expect(decodeEventId(bytes.toString('base64url'))).toBeUndefined();
      }),
    );
  });

  const NAME = [...Buffer.alloc(7), 1, ...Buffer.alloc(10)];
  it.each<[string, readonly number[]]>([
    ['nothing', []],
    ['half an event', NAME.slice(0, 9)],
    ['a number that no event has', [0xff, ...NAME.slice(1)]],
    ['an event and half another', [...NAME, ...NAME.slice(0, 9)]],
    ['two events and no transaction', [...NAME, ...NAME]],
    ['an event before the first', [...NAME, ...Buffer.alloc(18), 1]],
    ['a transaction twice', [...NAME, ...NAME, 1, 0, 1]],
    ['a distance that does not end', [...NAME, ...NAME, 0x81]],
    ['a distance of too many bytes', [...NAME, ...NAME, ...Array(9).fill(0x81), 1]],
    ['a distance that is longer than it need be', [...NAME, ...NAME, 0x81, 0]],
    ['too many transactions', [...NAME, ...NAME, ...Array(MAX_RUNNING + 1).fill(1)]],
  ])('never hold %s', (_what, content) => {
    const bytes = Buffer.from([1, ...content, 0, 0]);
    bytes.writeUInt16BE(crc32(bytes.subarray(0, -2)) & 0xffff, bytes.length - 2);
    expect(decodeEventId(bytes.toString('base64url'))).toBeUndefined();
  });
});

describe('a reader position', () => {
  /** Events of transactions, in the order of the log. */
  const log = fc
    .uniqueArray(fc.tuple(fc.bigInt({ min: 10n, max: 40n }), fc.integer({ min: 1, max: 100 })), {
      maxLength: 40,
      selector: ([, id]) => id,
    })
    .map((events) =>
      events
        .toSorted(([a, m], [b, n]) => Number(a - b) || m - n)
        .map(([transaction, id]): LogEvent => {
          const createdAt = new Date(id);
          const aggregateId = `00000000-0000-7000-8000-${String(id).padStart(12, '0')}`;
          const record = {
            kind: 'MADE',
            aggregateId,
            entityId: null,
            authorId: null,
            createdAt,
            trace: null,
          };
          return {
            ...record,
            position: { logEpoch: 1, xid: transaction, id, checksum: eventChecksum(record) },
          };
        }),
    );

  it('leaves out what was committed before its reader came, and nothing else', () => {
    fc.assert(
      fc.property(
        log,
        fc.uniqueArray(fc.bigInt({ min: 10n, max: 40n }), { maxLength: 8 }),
        fc.nat({ max: 39 }),
        (events, running, last) => {
          const end = events[last % Math.max(1, events.length)]?.position;
          fc.pre(end !== undefined);
          const open = running.filter((one) => end !== undefined && one < end.xid);
          fc.pre(open.length > 0 && end !== undefined);
          if (end === undefined) return;
          let at: ReaderPosition = {
            generation: 'h',
            logEpoch: 0,
            xid: 0n,
            id: 0,
            checksum: '',
            before: { ...end, running: open.toSorted((a, b) => Number(b - a)) },
          };
          for (const event of events) {
            const { xid: transaction, id } = event.position;
            const isLater = transaction > end.xid || (transaction === end.xid && id > end.id);
            const passed = pass(at, event);
            expect(passed.skipped).toBe(!isLater && !open.includes(transaction));
            at = passed.readerPosition;
          }
        },
      ),
    );
  });
});
