import { onTestFinished } from 'vitest';
import type { Parsed } from '../parsed.ts';

/** One block of an event stream as its lines say (HTML, section 9.2.6). Comments have the field name ''. */
export interface Block {
  readonly raw: string;
  readonly event: string | undefined;
  readonly id: string | undefined;
  readonly retry: string | undefined;
  readonly data: string | undefined;
}

function parseBlock(raw: string): Block {
  const fields = new Map<string, string[]>();
  for (const line of raw.split('\n')) {
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    fields.set(name, [...(fields.get(name) ?? []), value]);
  }
  const last = (name: string) => fields.get(name)?.at(-1);
  return {
    raw,
    event: last('event'),
    id: last('id'),
    retry: last('retry'),
    data: fields.get('data')?.join('\n'),
  };
}

/** The blocks of an open event stream. */
export interface EventStream {
  /** The next block, whatever it is; undefined at the end. */
  block(): Promise<Block | undefined>;
  /** The next block with an `event:`; undefined at the end. */
  event(): Promise<Block | undefined>;
  /** The parsed data of the next event, which must be `next`. */
  next(): Promise<Parsed>;
  /** Goes away, as a closed tab does. */
  close(): Promise<void>;
}

/** Reads the body of a response as Server-Sent Events. It is cancelled when the test has finished. */
export function readEventStream(response: Response): EventStream {
  const stream = openEventStream(response);
  // A stream that broke off has nothing left to cancel, and says so.
  onTestFinished(() => stream.close().catch(() => undefined));
  return stream;
}

/** The same for as long as the caller keeps it. */
export function openEventStream(response: Response): EventStream {
  if (response.body === null) throw new Error('the response has no body');
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = '';
  const stream: EventStream = {
    async block() {
      for (;;) {
        const end = buffer.indexOf('\n\n');
        if (end >= 0) {
          const raw = buffer.slice(0, end);
          buffer = buffer.slice(end + 2);
          return parseBlock(raw);
        }
        const { done, value } = await reader.read();
        if (done) return undefined;
        buffer += value;
      }
    },
    async event() {
      for (;;) {
        const block = await stream.block();
        if (block === undefined || block.event !== undefined) return block;
      }
    },
    async next() {
      const block = await stream.event();
      if (block?.event !== 'next') throw new Error(`expected "next", got ${block?.raw ?? 'the end'}`);
      return JSON.parse(block.data ?? '');
    },
    close: () => reader.cancel(),
  };
  return stream;
}
