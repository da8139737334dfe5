import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { readEventStream } from '../../support/streams/event-stream.ts';
import { received, requestStream } from '../../support/streams/subscriber.ts';

/** The bytes of an id as anybody finds them who looks: version, generation, transaction, number, runs, checksum. */
interface Parts {
  readonly generation: Buffer;
  readonly xid: bigint;
  readonly id: bigint;
  readonly runs: readonly (readonly [bigint, number])[];
  readonly version: number;
}

function forge({ version, generation, xid, id, runs }: Parts): string {
  const bytes = Buffer.alloc(27 + 12 * runs.length);
  bytes.writeUInt8(version, 0);
  generation.copy(bytes, 1);
  bytes.writeBigUInt64BE(xid, 9);
  bytes.writeBigUInt64BE(id, 17);
  runs.forEach(([first, count], index) => {
    bytes.writeBigUInt64BE(first, 25 + 12 * index);
    bytes.writeUInt32BE(count, 33 + 12 * index);
  });
  bytes.writeUInt16BE(crc32(bytes.subarray(0, -2)) & 0xffff, bytes.length - 2);
  return bytes.toString('base64url');
}

const EDGES = [
  0n,
  1n,
  2n ** 31n,
  2n ** 32n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 63n - 1n,
  2n ** 63n,
  2n ** 64n - 1n,
];
const u64 = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...EDGES) },
  { weight: 1, arbitrary: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }) },
  { weight: 2, arbitrary: fc.bigInt({ min: 0n, max: 2_000n }) },
);
const u32 = fc.oneof(fc.constantFrom(0, 1, 2 ** 31, 2 ** 32 - 1), fc.nat(100));

const mostlyReal = <T>(other: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant('real' as const) }, { weight: 1, arbitrary: other });

describe('an event id that somebody made up', () => {
  const app = useApp({ settings: { MAX_STREAMS: '100000' } });
  let key = '';
  let real: Buffer;
  beforeAll(async () => {
    ({ key } = await app.account());
    await createPost(app, key);
    const { body } = await requestStream(app, { key });
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
    real = Buffer.from(/id: (\S+)/.exec((await reader?.read())?.value ?? '')?.[1] ?? '', 'base64url');
    await reader?.cancel();
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
      const block = await stream.event();
      // An id can leave every post out: then nothing comes, and the next line is a comment.
      const event = received(block);
      if (event.title !== title && event.errors === undefined) continue;
      await stream.close();
      return event.errors?.[0]?.extensions.code;
    }
  }

  it('is refused as malformed or expired, or taken for the place it names: never 500, never an internal error', async () => {
    const runs = fc.oneof(
      fc.constant([]),
      fc.array(
        fc.tuple(u64, u32).filter(([first]) => first > 5_000n),
        { maxLength: 6 },
      ),
    );
    const parts = fc.record({
      version: fc.constantFrom(1, 1, 1, 1, 1, 1, 1, 1, 0, 2, 255),
      generation: mostlyReal(fc.uint8Array({ minLength: 8, maxLength: 8 })),
      xid: mostlyReal(u64),
      id: mostlyReal(u64),
      runs,
    });
    const seen = new Map<string | undefined, number>();
    await fc.assert(
      fc.asyncProperty(parts, async ({ version, generation, xid, id, runs }) => {
        const header = forge({
          version,
          generation: generation === 'real' ? real.subarray(1, 9) : Buffer.from(generation),
          xid: xid === 'real' ? real.readBigUInt64BE(9) : xid,
          id: id === 'real' ? real.readBigUInt64BE(17) : id,
          runs,
        });
        const outcome = await outcomeOf(header);
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
        expect([undefined, 'BAD_USER_INPUT', 'EVENT_HISTORY_EXPIRED']).toContain(outcome);
      }),
      { numRuns: 150 },
    );
    for (const outcome of [undefined, 'BAD_USER_INPUT', 'EVENT_HISTORY_EXPIRED'])
      expect(seen.get(outcome)).toBeGreaterThan(5);
  }, 120_000);

  it.each(EDGES.slice(5).flatMap((first) => [0, 1, 2 ** 32 - 1].map((count) => [first, count] as const)))(
    'is BAD_USER_INPUT with numbers that no event has: %s, %s',
    async (first, count) => {
      const generation = real.subarray(1, 9);
      const place = { version: 1, generation, xid: real.readBigUInt64BE(9), id: real.readBigUInt64BE(17) };
      expect(await outcomeOf(forge({ ...place, runs: [[first, count]] }))).toBe('BAD_USER_INPUT');
    },
  );
});
