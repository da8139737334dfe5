import { expect } from 'vitest';
import type { TestApp } from '../app.ts';
import type { GraphqlError } from '../graphql.ts';
import { type Block, type EventStream, readEventStream } from './event-stream.ts';

export type Method = 'GET' | 'POST';

export interface SubscribeOptions {
  readonly key: string;
  readonly method?: Method;
  readonly query?: string;
  /** Over POST. */
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly accept?: string;
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as the header Last-Event-ID. */
  readonly header?: string | undefined;
  /** Sent as the query parameter lastEventId. */
  readonly parameter?: string | undefined;
  readonly signal?: AbortSignal;
}

/** One event as a client gets it. */
export interface Received {
  readonly id: string;
  readonly title: string | undefined;
  readonly errors: readonly GraphqlError[] | undefined;
}

/** An open stream of `postCreated`. */
export interface Subscriber {
  readonly stream: EventStream;
  /** The id of the block that the stream opened with. */
  readonly startId: string;
  /** The next event, which must be `next` and have an id. */
  receive(): Promise<Received>;
  /** Events up to the post with this title. */
  until(title: string): Promise<Received[]>;
  close(): Promise<void>;
}

const TITLES = 'subscription { postCreated { title } }';

/** Asks for a stream over GET, as EventSource does, or POST. */
export async function requestStream(
  { fetch }: Pick<TestApp, 'fetch'>,
  options: SubscribeOptions,
): Promise<Response> {
  const { key, method = 'POST', query = TITLES, accept = 'text/event-stream' } = options;
  const { headers, header, parameter, signal, variables } = options;
  const search = new URLSearchParams({
    ...(method === 'GET' ? { query } : {}),
    ...(parameter === undefined ? {} : { lastEventId: parameter }),
  });
  return fetch(`/graphql?${search}`, {
    method,
    headers: {
      accept,
      authorization: `Bearer ${key}`,
      ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
      ...(header === undefined ? {} : { 'last-event-id': header }),
      ...headers,
    },
    ...(method === 'POST' ? { body: JSON.stringify({ query, variables }) } : {}),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** What an event says. */
export function received(block: Block | undefined): Received {
  if (block?.event !== 'next' || block.id === undefined)
    throw new Error(`expected "next" with an id, got ${block?.raw ?? 'the end'}`);
  const { data, errors } = JSON.parse(block.data ?? '');
  return { id: block.id, title: data?.postCreated.title, errors };
}

/** Opens a stream and reads the block it opens with. */
export async function subscribe(app: Pick<TestApp, 'fetch'>, options: SubscribeOptions): Promise<Subscriber> {
  const response = await requestStream(app, options);
  expect(response.status).toBe(200);
  const stream = readEventStream(response);
  const first = await stream.block();
  if (first?.id === undefined) throw new Error(`expected the opening block, got ${first?.raw ?? 'the end'}`);
  const receive = async () => received(await stream.event());
  return {
    stream,
    startId: first.id,
    receive,
    async until(title) {
      const events: Received[] = [];
      while (events.at(-1)?.title !== title) events.push(await receive());
      return events;
    },
    close: () => stream.close(),
  };
}

export const titlesOf = (events: readonly Received[]) => events.map(({ title }) => title);
