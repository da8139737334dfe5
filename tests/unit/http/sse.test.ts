import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { eventStream } from '../../../src/http/response/sse.ts';
import type { StreamEvent } from '../../../src/operation/outcome.ts';
import { readEventStream } from '../../support/event-stream.ts';

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

describe('an event', () => {
  it('is one block with one line of data, whatever white space its JSON has', async () => {
    await fc.assert(
      fc.asyncProperty(loose, async ({ value, text }) => {
        async function* events(): AsyncGenerator<StreamEvent, void, undefined> {
          yield { id: undefined, outcome: { kind: 'executed', result: { data: {} } } };
        }
        const response = eventStream(events(), {
          stop: new AbortController(),
          startId: undefined,
          toText: () => text,
        });
        const wire = await response.clone().text();
        expect(wire).not.toContain('\r');
        expect(wire.split('\n').filter((line) => line.startsWith('data: '))).toHaveLength(1);
        const stream = readEventStream(response);
        await stream.block();
        const event = await stream.block();
        expect(JSON.parse(event?.data ?? '')).toEqual(JSON.parse(JSON.stringify(value)));
        expect(await stream.block()).toMatchObject({ event: 'complete' });
        expect(await stream.block()).toBeUndefined();
      }),
    );
  });
});

describe('a stream on which nothing happens', () => {
  it('gets a comment at least every 15 seconds, and none once it has ended', async () => {
    vi.useFakeTimers();
    try {
      const stop = new AbortController();
      async function* nothing(): AsyncGenerator<StreamEvent, void, undefined> {
        await new Promise(() => undefined);
      }
      const { body, headers } = eventStream(nothing(), { stop, startId: undefined, toText: String });
      // nginx holds responses back by default.
      expect(headers.get('x-accel-buffering')).toBe('no');
      const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
      expect((await reader?.read())?.value).toMatch(/^retry: /);
      for (let round = 0; round < 3; round += 1) {
        const next = reader?.read();
        await vi.advanceTimersByTimeAsync(15_000);
        expect((await next)?.value).toMatch(/^(:\n\n)+$/);
      }
      expect(vi.getTimerCount()).toBe(1);
      stop.abort();
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});
