import { expect, onTestFinished } from 'vitest';
import type { TestApp } from '../app.ts';
import type { GraphqlError } from '../graphql.ts';
import type { Parsed } from '../parsed.ts';
import { MultipartParser, type Part } from './multipart-parser.ts';
import { type Received, requestStream, type SubscribeOptions } from './subscriber.ts';

export const ACCEPT_MULTIPART = 'multipart/mixed;subscriptionSpec=1.0';

/** An open stream in Apollo's multipart protocol. */
export interface MultipartStream {
  /** The position at which it opened. */
  readonly startId: string;
  /** The next part, which may be a heartbeat; undefined at the end. */
  part(): Promise<Part | undefined>;
  /** The next payload; undefined at the end. */
  payload(): Promise<Parsed>;
  /** Whether it has been closed by its last delimiter. */
  readonly closed: boolean;
  close(): Promise<void>;
}

/** Reads the body of a response for as long as the caller keeps it. */
export function openMultipart(response: Response): MultipartStream {
  if (response.body === null) throw new Error('the response has no body');
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const parser = new MultipartParser();
  const parts: Part[] = [];
  const stream: MultipartStream = {
    startId: response.headers.get('x-event-id') ?? '',
    async part() {
      for (;;) {
        const part = parts.shift();
        if (part !== undefined) return part;
        const { done, value } = await reader.read();
        if (done) return undefined;
        parts.push(...parser.take(value));
      }
    },
    async payload() {
      for (;;) {
        const part = await stream.part();
        if (part === undefined || part.payload !== undefined) return part?.payload;
      }
    },
    get closed() {
      return parser.closed;
    },
    close: () => reader.cancel(),
  };
  return stream;
}

/** A subscriber to the titles of new posts. */
export interface MultipartSubscriber extends MultipartStream {
  readonly response: Response;
  /** The next event. */
  receive(): Promise<Received>;
  /** Events up to the post with this title. */
  until(title: string): Promise<Received[]>;
}

/** What a payload says. */
export function receivedIn(payload: Parsed): Received {
  const id: unknown = payload?.extensions?.eventId;
  if (typeof id !== 'string')
    throw new Error(`expected a payload with an id, got ${JSON.stringify(payload)}`);
  const errors: readonly GraphqlError[] | undefined = payload.errors;
  return { id, title: payload.data?.postCreated.title, errors };
}

/** Opens a stream, which is cancelled when the test has finished. */
export async function subscribeMultipart(
  app: Pick<TestApp, 'fetch'>,
  options: SubscribeOptions,
): Promise<MultipartSubscriber> {
  const response = await requestStream(app, { accept: ACCEPT_MULTIPART, ...options });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('multipart/mixed;boundary=graphql;subscriptionSpec=1.0');
  const stream = openMultipart(response);
  // A stream that broke off has nothing left to cancel, and says so.
  onTestFinished(() => stream.close().catch(() => undefined));
  const receive = async () => receivedIn(await stream.payload());
  return {
    response,
    startId: stream.startId,
    part: stream.part,
    payload: stream.payload,
    close: stream.close,
    get closed() {
      return stream.closed;
    },
    receive,
    async until(title) {
      const events: Received[] = [];
      while (events.at(-1)?.title !== title) events.push(await receive());
      return events;
    },
  };
}
