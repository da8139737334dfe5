import { describe, expect, it, onTestFinished } from 'vitest';
import { type ClientOptions, ContentGraphError, createClient } from '../../../packages/client/src/index.ts';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { useSocket } from '../../support/socket.ts';

const app = useApp();
const socket = useSocket(app);
const UPDATE_POST =
  'mutation ($id: ID!, $title: String!, $ifVersion: Int) { updatePost(id: $id, title: $title, ifVersion: $ifVersion) { version } }';
const TITLES = 'query ($limit: Int) { posts(limit: $limit) { title } }';

interface Titles {
  readonly posts: readonly { readonly title: string }[];
}

function openClient(key: string, options: Partial<ClientOptions> = {}) {
  const client = createClient({
    url: `${socket.origin}/graphql`,
    headers: { authorization: `Bearer ${key}` },
    ...options,
  });
  onTestFinished(() => client.close());
  return client;
}

describe('A client', () => {
  it('executes a query, and tells where to follow the result from', async () => {
    const { key } = await app.account();
    const client = openClient(key);
    await createPost(app, key, { title: 'Read' });
    const result = await client.query<Titles, { limit: number }>(TITLES, { limit: 1 }, { showEventId: true });
    expect(result.data.posts).toEqual([{ title: 'Read' }]);
    expect(result).toMatchObject({
      errors: [],
      eventId: expect.stringMatching(/^\S{20,}$/),
      replayed: false,
    });
    const snapshot = await client.snapshot<Titles, { limit: number }>(TITLES, { limit: 1 });
    expect(JSON.parse(JSON.stringify(snapshot))).toEqual({ data: result.data, eventId: expect.any(String) });
  });

  it('throws typed errors for rejected operations', async () => {
    const { key } = await app.account({ scopes: ['posts:read', 'posts:write'] });
    const client = openClient(key);
    const catchError = (promise: Promise<unknown>) =>
      promise.then(
        () => undefined,
        (error: unknown) => (error instanceof ContentGraphError ? error : undefined),
      );
    expect(await catchError(client.query(TITLES, { limit: 500 }))).toMatchObject({
      code: 'BAD_USER_INPUT',
      argument: 'limit',
      wasExecuted: true,
      isRetryable: false,
      isOutcomeUnknown: false,
    });
    expect(await catchError(client.query('{ posts { headline } }', {}))).toMatchObject({
      code: 'GRAPHQL_VALIDATION_FAILED',
      httpStatus: 400,
      wasExecuted: false,
    });
    expect(await catchError(client.query('{ users { name } }', {}))).toMatchObject({ code: 'FORBIDDEN' });
    const wrong = openClient('wrong');
    expect(await catchError(wrong.query(TITLES, { limit: 1 }))).toMatchObject({
      code: 'UNAUTHENTICATED',
      httpStatus: 401,
      requestId: expect.any(String),
    });
    const id = await createPost(app, key, { title: 'Changed' });
    const conflict = { id, title: 'Mine', ifVersion: 7 };
    expect(await catchError(client.mutate(UPDATE_POST, conflict))).toMatchObject({
      code: 'CONFLICT',
      version: 1,
      wasExecuted: true,
    });
  });
});
