import { expect } from 'vitest';
import type { TestApp } from '../app.ts';
import { type EventStream, readEventStream } from './event-stream.ts';

export interface Operation {
  readonly query?: unknown;
  readonly documentId?: unknown;
  readonly extensions?: unknown;
  readonly variables?: unknown;
  readonly operationName?: unknown;
}

export const TITLES = 'subscription { postCreated { id title } }';

/** Asks for a stream token with these credentials. */
export function requestToken(
  { fetch }: Pick<TestApp, 'fetch'>,
  headers: Record<string, string>,
  operation: Operation = { query: TITLES },
): Promise<Response> {
  return fetch('/graphql/stream-token', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(operation),
  });
}

/** A stream token. */
export async function issueToken(
  app: Pick<TestApp, 'fetch'>,
  headers: Record<string, string>,
  operation?: Operation,
): Promise<string> {
  const response = await requestToken(app, headers, operation);
  expect(response.status).toBe(200);
  const { token } = (await response.json()) as { token: string };
  return token;
}

/** Asks for the stream of a token as an EventSource does. */
export function requestByToken(
  { fetch }: Pick<TestApp, 'fetch'>,
  token: string,
  { search = {}, headers = {} }: { search?: Record<string, string>; headers?: Record<string, string> } = {},
): Promise<Response> {
  const parameters = new URLSearchParams({ stream_token: token, ...search });
  return fetch(`/graphql?${parameters}`, { headers: { accept: 'text/event-stream', ...headers } });
}

/** The stream of a token, and the position at which it opened. */
export async function openByToken(
  ...given: Parameters<typeof requestByToken>
): Promise<{ stream: EventStream; startId: string }> {
  const response = await requestByToken(...given);
  expect(response.status).toBe(200);
  const stream = readEventStream(response);
  const opening = await stream.block();
  return { stream, startId: opening?.id ?? '' };
}
