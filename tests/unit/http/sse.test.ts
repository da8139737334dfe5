import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SSE } from '../../../src/http/response/event-stream-formats.ts';
import { readEventStream } from '../../support/streams/event-stream.ts';

/** JSON with white space between its tokens, as any source may write it. */
const loose = fc
  .tuple(fc.jsonValue(), fc.array(fc.constantFrom('\n', '\r', '\r\n', ' ', '\t', '\n\n', '')))
  .map(([value, spaces]) => {
    let at = 0;
    const space = () => {
      at += 1;
      return spaces[at % Math.max(1, spaces.length)] ?? '';
    };
    const write = (part: unknown): string => {
      if (Array.isArray(part)) return `[${space()}${part.map(write).join(`,${space()}`)}${space()}]`;
      if (typeof part !== 'object' || part === null) return JSON.stringify(part);
      const members = Object.entries(part).map(
        ([name, member]) => `${JSON.stringify(name)}${space()}:${space()}${write(member)}`,
      );
      return `{${space()}${members.join(`${space()},`)}${space()}}`;
    };
    return { value, text: `${space()}${write(value)}${space()}` };
  });

const ids = fc.stringMatching(/^[\w-]{1,60}$/);

describe('events', () => {
  it('are one block each with one line of data, whatever white space their JSON has', async () => {
    const events = fc.array(fc.record({ id: ids, json: loose }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(events, async (given) => {
        const { bytes } = SSE.events(given.map(({ id, json: { text } }) => ({ id, text })));
        const wire = bytes.toString();
        expect(wire).not.toContain('\r');
        expect(wire.split('\n').filter((line) => line.startsWith('data: '))).toHaveLength(given.length);
        const stream = readEventStream(new Response(wire));
        for (const { id, json } of given) {
          const event = await stream.block();
          expect(event).toMatchObject({ event: 'next', id });
          expect(JSON.parse(event?.data ?? '')).toEqual(JSON.parse(JSON.stringify(json.value)));
        }
        expect(await stream.block()).toBeUndefined();
      }),
    );
  });

  it('are the content of one chunk (RFC 9112 section 7.1)', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ id: ids, text: fc.string({ unit: 'binary' }) })), (given) => {
        const { bytes, chunk } = SSE.events(given);
        const [size = '', ...rest] = chunk.toString('latin1').split('\r\n');
        expect(Number.parseInt(size, 16)).toBe(bytes.length);
        expect(`${rest.join('\r\n')}`).toBe(`${bytes.toString('latin1')}\r\n`);
      }),
    );
  });
});
