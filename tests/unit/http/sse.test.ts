import type { ExecutionResult } from 'graphql';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { eventStream } from '../../../src/http/sse.ts';
import { readEventStream } from '../../support/event-stream.ts';

async function* silent(): AsyncGenerator<ExecutionResult> {
  await new Promise(() => undefined);
}

describe('eventStream', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const open = (keepAliveMs?: number) => {
    const stop = new AbortController();
    const toText = (result: ExecutionResult) => JSON.stringify(result);
    const options = {
      stop,
      startId: undefined,
      toText,
      ...(keepAliveMs === undefined ? {} : { keepAliveMs }),
    };
    return { stop, response: eventStream(silent(), options) };
  };
  /** Reads without waiting: the text of all that has been written. */
  function collect(response: Response): { readonly text: string } {
    const read = { text: '' };
    void response.body?.pipeThrough(new TextDecoderStream()).pipeTo(
      new WritableStream({
        write(chunk) {
          read.text += chunk;
        },
      }),
    );
    return read;
  }

  it('writes a comment in every 15 seconds in which nothing happens', async () => {
    const read = collect(open().response);
    await vi.advanceTimersByTimeAsync(0);
    for (let round = 0; round < 5; round += 1) {
      const before = read.text.length;
      await vi.advanceTimersByTimeAsync(15_000);
      expect(read.text.slice(before)).toMatch(/^(:\n\n)+$/);
    }
  });

  it('writes no comment to a reader that takes nothing', async () => {
    const { response } = open();
    await vi.advanceTimersByTimeAsync(600_000);
    const read = collect(response);
    await vi.advanceTimersByTimeAsync(0);
    expect(read.text.match(/:\n\n/g) ?? []).toHaveLength(0);
  });

  it('leaves no timer behind, whoever ends the stream', async () => {
    const { stop } = open();
    const { response } = open(5_000);
    expect(vi.getTimerCount()).toBe(2);
    stop.abort();
    const stream = readEventStream(response);
    expect(await stream.block()).toMatchObject({ retry: expect.any(String) });
    void stream.close();
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});
