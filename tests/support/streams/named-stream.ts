import { expect } from 'vitest';
import type { TestApp } from '../app.ts';
import type { Parsed } from '../parsed.ts';
import { type Members, type MembersOptions, sendMembers } from '../trusted-documents.ts';
import { type EventStream, readEventStream } from './event-stream.ts';
import { ACCEPT_MULTIPART, openMultipart } from './multipart-stream.ts';

/** An open stream of either format. */
export interface NamedStream {
  /** The next payload. Throws if the stream has ended. */
  payload(): Promise<Parsed>;
  /** Resolves once the stream has ended in good order. Throws if something else has come. */
  ended(): Promise<void>;
}

/** The ways in which a stream is opened. */
export const STREAM_WAYS = [
  { name: 'SSE over POST', method: 'POST', accept: 'text/event-stream' },
  { name: 'SSE over GET', method: 'GET', accept: 'text/event-stream' },
  { name: 'multipart over POST', method: 'POST', accept: ACCEPT_MULTIPART },
  { name: 'multipart over GET', method: 'GET', accept: ACCEPT_MULTIPART },
] as const;
export type StreamWay = (typeof STREAM_WAYS)[number];

/** An event stream that has opened. */
export const ofEvents = (stream: EventStream): NamedStream => ({
  payload: stream.next,
  async ended() {
    const last = await stream.event();
    expect(last?.event).toBe('complete');
    expect(await stream.block()).toBeUndefined();
  },
});

/** Asks for a stream with these members. */
export const requestNamed = (
  app: Pick<TestApp, 'fetch'>,
  members: Members,
  { method, accept }: Pick<StreamWay, 'method' | 'accept'>,
  key: string,
  { headers }: MembersOptions = {},
): Promise<Response> => sendMembers(app, members, { key, method, headers: { accept, ...headers } });

/** Opens a stream with these members. */
export async function openNamed(...given: Parameters<typeof requestNamed>): Promise<NamedStream> {
  const response = await requestNamed(...given);
  expect(response.status).toBe(200);
  if (response.headers.get('content-type')?.startsWith('text/event-stream'))
    return ofEvents(readEventStream(response));
  const stream = openMultipart(response);
  return {
    async payload() {
      const payload = await stream.payload();
      if (payload === undefined) throw new Error('the stream has ended');
      return payload;
    },
    async ended() {
      expect(await stream.payload()).toBeUndefined();
      expect(stream.closed).toBe(true);
    },
  };
}
