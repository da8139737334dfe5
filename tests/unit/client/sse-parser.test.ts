import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSseParser, type SseBlock } from '../../../packages/client/src/sse-parser.ts';
import { SSE } from '../../../src/http/response/event-stream-formats.ts';

/** A text cut into parts at any places. */
function cut(text: string, places: readonly number[]): string[] {
  const sorted = [0, ...places.map((place) => place % (text.length + 1)), text.length].sort((a, b) => a - b);
  return sorted.slice(1).map((end, index) => text.slice(sorted[index], end));
}

const value = fc.string({ unit: fc.constantFrom('a', ':', ' ', '{', 'é', '😀') });
const block = fc
  .record(
    { id: value, event: value, retry: value, data: fc.array(value, { minLength: 1, maxLength: 3 }) },
    { requiredKeys: [] },
  )
  .filter((fields) => Object.keys(fields).length > 0);
const lineEnd = fc.constantFrom('\n', '\r', '\r\n');

describe('The parser of event streams', () => {
  it('reads the same blocks wherever the stream is cut, with any line ends and with comments between', () => {
    const given = fc.tuple(fc.array(block), lineEnd, fc.array(fc.nat()));
    fc.assert(
      fc.property(given, ([blocks, end, places]) => {
        const write = (line: string) => line + end;
        const stream = blocks
          .map(({ data = [], ...fields }) =>
            [
              ...Object.entries(fields).map(([name, text]) => write(`${name}: ${text}`)),
              write(': a comment'),
              ...data.map((text) => write(`data: ${text}`)),
              write(''),
            ].join(''),
          )
          .join('');
        const parse = createSseParser();
        const read = cut(stream, places).flatMap(parse);
        const expected = blocks.map(({ data, ...fields }): SseBlock => {
          return { ...fields, ...(data === undefined ? {} : { data: data.join('\n') }) };
        });
        expect(read).toEqual(expected);
      }),
    );
  });

  it('reads what the service writes', () => {
    const text = '{"data":{"postCreated":{"title":"a: b"}}}';
    expect(createSseParser()(SSE.whole(text, 'one'))).toEqual([
      { retry: '1000', id: 'one' },
      { id: 'one', event: 'next', data: text },
      { event: 'complete', data: '' },
    ]);
  });
});
