import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { eventsReadable } from '../../support/database/events.ts';
import { readEventStream } from '../../support/streams/event-stream.ts';
import { received, requestStream } from '../../support/streams/subscriber.ts';

/** An event as the bytes of an id name it: its number, and what tells it from others with that number. */
type Name = readonly [number: bigint, mark: Buffer];

/** The bytes of an id as anybody finds them who looks: version, event, then a later event and distances, checksum. */
interface Parts {
  readonly version: number;
  readonly event: Name;
  readonly before: { readonly event: Name; readonly distances: readonly number[] } | undefined;
}

const bytesOf = ([number, mark]: Name): Buffer => {
  const bytes = Buffer.alloc(18);
  bytes.writeBigUInt64BE(number);
  mark.copy(bytes, 8);
  return bytes;
};

function forge({ version, event, before }: Parts): string {
  const later = before === undefined ? [] : [bytesOf(before.event), Buffer.from(before.distances)];
  const bytes = Buffer.concat([Buffer.from([version]), bytesOf(event), ...later, Buffer.alloc(2)]);
  bytes.writeUInt16BE(crc32(bytes.subarray(0, -2)) & 0xffff, bytes.length - 2);
  return bytes.toString('base64url');
}

const EDGES = [0n, 1n, 2n ** 31n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n];
const u64 = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...EDGES) },
  { weight: 1, arbitrary: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }) },
  { weight: 2, arbitrary: fc.bigInt({ min: 0n, max: 200n }) },
);
const someMark = fc.uint8Array({ minLength: 10, maxLength: 10 }).map((bytes) => Buffer.from(bytes));
const mostlyReal = <T>(other: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant('real' as const) }, { weight: 1, arbitrary: other });

describe('an event id that somebody made up', () => {
  const app = useApp({ settings: { MAX_STREAMS: '100000' } });
  let key = '';
  let first: Name = [0n, Buffer.alloc(10)];
  let second: Name = first;

  /** The event at which a stream opens. */
  async function present(): Promise<Name> {
    const { body } = await requestStream(app, { key });
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
    const bytes = Buffer.from(/id: (\S+)/.exec((await reader?.read())?.value ?? '')?.[1] ?? '', 'base64url');
    await reader?.cancel();
    return [bytes.readBigUInt64BE(1), bytes.subarray(9, 19)];
  }
  beforeAll(async () => {
    ({ key } = await app.account());
    await createPost(app, key);
    await eventsReadable(app);
    first = await present();
    await createPost(app, key);
    second = await present();
  });

  /** What comes of an id: the code it is refused with, or undefined where the stream goes on with the next post. */
  async function outcomeOf(header: string): Promise<string | undefined> {
    const response = await requestStream(app, { key, header });
    expect(response.status).toBe(200);
    const stream = readEventStream(response);
    expect((await stream.block())?.id).toMatch(/^[\w-]+$/);
    const title = `after ${header.slice(0, 150)}`;
    await createPost(app, key, { title });
    for (;;) {
      const event = received(await stream.event());
      if (event.title !== title && event.errors === undefined) continue;
      await stream.close();
      return event.errors?.[0]?.extensions.code;
    }
  }

  it('is refused as malformed or expired, or taken for the place it names: never 500, never an internal error', async () => {
    const name = (real: () => Name) =>
      fc.tuple(mostlyReal(u64), mostlyReal(someMark)).map(
        ([number, mark]) =>
          (): Name => [number === 'real' ? real()[0] : number, mark === 'real' ? real()[1] : mark],
      );
    const parts = fc.record({
      version: fc.constantFrom(1, 1, 1, 1, 1, 1, 1, 1, 0, 2, 255),
      event: name(() => first),
      before: fc.option(
        fc.record({
          event: name(() => second),
          distances: fc.array(fc.constantFrom(0, 1, 2, 5, 0x80, 0xff), { maxLength: 12 }),
        }),
        { nil: undefined },
      ),
    });
    const seen = new Map<string | undefined, number>();
    await fc.assert(
      fc.asyncProperty(parts, async ({ version, event, before }) => {
        const header = forge({
          version,
          event: event(),
          before: before && { event: before.event(), distances: before.distances },
        });
        const outcome = await outcomeOf(header);
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
        expect([undefined, 'BAD_USER_INPUT', 'EVENT_HISTORY_EXPIRED']).toContain(outcome);
      }),
      {
        numRuns: 150,
        // One of each outcome, whatever is drawn.
        examples: [
          [{ version: 1, event: () => first, before: undefined }],
          [{ version: 1, event: () => [first[0], Buffer.alloc(10)], before: undefined }],
          [{ version: 2, event: () => first, before: undefined }],
        ],
      },
    );
    expect([...seen.keys()]).toHaveLength(3);
  });

  it.each(EDGES.slice(4))('is BAD_USER_INPUT with a number that no event has: %s', async (number) => {
    expect(await outcomeOf(forge({ version: 1, event: [number, first[1]], before: undefined }))).toBe(
      'BAD_USER_INPUT',
    );
  });

  it.each<[string, (a: Name, b: Name) => Omit<Parts, 'version'>]>([
    ['an event before itself', (a) => ({ event: a, before: { event: a, distances: [1] } })],
    ['a later event before an earlier one', (a, b) => ({ event: b, before: { event: a, distances: [1] } })],
    ['no running transaction', (a, b) => ({ event: a, before: { event: b, distances: [] } })],
    [
      'nine hundred runs of numbers, as there once were',
      (a, b) => ({ event: a, before: { event: b, distances: Array(900 * 12).fill(0) } }),
    ],
    [
      'more transactions than a server runs',
      (a, b) => ({ event: a, before: { event: b, distances: Array(1_001).fill(1) } }),
    ],
    [
      'transactions from before the first',
      (a, b) => ({
        event: a,
        before: { event: b, distances: Array(8).fill([0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]).flat() },
      }),
    ],
  ])('is BAD_USER_INPUT with %s', async (_what, parts) => {
    expect(await outcomeOf(forge({ version: 1, ...parts(first, second) }))).toBe('BAD_USER_INPUT');
  });
});
