import { setTimeout as delay } from 'node:timers/promises';
import type { TestApp } from './app.ts';
import { graphqlPost } from './graphql.ts';

export interface KeyedRequest {
  readonly query: string;
  readonly variables?: unknown;
  readonly operationName?: string;
  /** The header Idempotency-Key as it is sent; none where absent. */
  readonly idempotencyKey?: string;
  readonly key?: string;
  readonly cookie?: string;
  readonly accept?: string;
  readonly headers?: Record<string, string>;
}

/** A response to the byte. */
export interface RawResponse {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  /** The header Idempotency-Replayed. */
  readonly replayed: string | null;
  readonly codes: readonly string[];
}

/** Posts a GraphQL request and returns the response unread: replays are compared as they came. */
export async function send(
  { fetch }: Pick<TestApp, 'fetch'>,
  { query, variables, operationName, idempotencyKey, key, cookie, accept, headers = {} }: KeyedRequest,
): Promise<RawResponse> {
  const given = { 'idempotency-key': idempotencyKey, cookie, accept };
  const response = await fetch(
    '/graphql',
    graphqlPost(query, {
      key,
      variables,
      operationName,
      headers: {
        ...Object.fromEntries(
          Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
        ),
        ...headers,
      },
    }),
  );
  const text = await response.text();
  return {
    status: response.status,
    text,
    headers: response.headers,
    replayed: response.headers.get('idempotency-replayed'),
    codes: [...text.matchAll(/"code":"([A-Z_]+)"/g)].map(([, code = '']) => code),
  };
}

/**
 * Sends a keyed request again while another one with its key runs, as the contract tells clients to do. The service lets
 * a duplicate wait for 5 seconds, and a busy machine can take longer.
 */
export async function sendUntilResponse(
  app: Pick<TestApp, 'fetch'>,
  request: KeyedRequest,
): Promise<RawResponse> {
  for (;;) {
    const result = await send(app, request);
    if (!result.codes.includes('IDEMPOTENCY_IN_PROGRESS')) return result;
    await delay(1_000 * Number(result.headers.get('retry-after')));
  }
}

export const CREATE_POST =
  'mutation ($title: String!) { createPost(title: $title, body: "Body.") { id title createdAt author { email } } }';

/** How many posts have the title. */
export function postsNamed({ prisma }: Pick<TestApp, 'prisma'>, title: string): Promise<number> {
  return prisma.post.count({ where: { title } });
}

/** How many responses are stored for the account. */
export function storedFor({ prisma }: Pick<TestApp, 'prisma'>, userId: string): Promise<number> {
  return prisma.idempotencyKey.count({ where: { userId } });
}

/** The same as one statement: its payload shows nothing but the row. */
export const CREATE_ALONE =
  'mutation ($title: String!) { createPost(title: $title, body: "Body.") { id title createdAt } }';

/** How a keyed `CREATE_ALONE` is done. A statement by itself does not tell its cost. */
export const WAYS = [
  ['one statement', {}],
  ['a transaction', { 'x-show-cost': '1' }],
] as const;
