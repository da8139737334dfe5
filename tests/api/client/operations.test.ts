import { describe, expect, it, onTestFinished } from 'vitest';
import { type ClientOptions, ContentGraphError, createClient } from '../../../packages/client/src/index.ts';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { useSocket } from '../../support/socket.ts';

const app = useApp();
const socket = useSocket(app);

const CREATE_POST =
  'mutation ($title: String!, $body: String!) { createPost(title: $title, body: $body) { id title version } }';
const UPDATE_POST =
  'mutation ($id: ID!, $title: String!, $ifVersion: Int) { updatePost(id: $id, title: $title, ifVersion: $ifVersion) { version } }';
const TITLES = 'query ($limit: Int) { posts(limit: $limit) { title } }';

interface Titles {
  readonly posts: readonly { readonly title: string }[];
}
interface CreatedPost {
  readonly createPost: { readonly id: string; readonly title: string; readonly version: number };
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

  it('executes a mutation once for each key', async () => {
    const { key } = await app.account();
    const client = openClient(key);
    const post = { title: 'Once', body: 'And only once.' };
    const first = await client.mutate<CreatedPost, typeof post>(CREATE_POST, post, { key: 'order-42' });
    const second = await client.mutate<CreatedPost, typeof post>(CREATE_POST, post, { key: 'order-42' });
    expect(first.replayed).toBe(false);
    expect(second).toMatchObject({ data: first.data, replayed: true });
    const other = await client.mutate<CreatedPost, typeof post>(CREATE_POST, post);
    expect(other.data.createPost.id).not.toBe(first.data.createPost.id);
  });

  it('follows events from a snapshot on, each of them once and in order', async () => {
    const { key } = await app.account();
    const client = openClient(key);
    const { eventId } = await client.snapshot<Titles, { limit: number }>(TITLES, { limit: 1 });
    const titles = ['one', 'two', 'three'];
    for (const title of titles) await client.mutate(CREATE_POST, { title, body: 'Body' });
    const received: string[] = [];
    const states: string[] = [];
    const stream = client.subscribe<{ postCreated: { title: string } }, object>(
      'subscription { postCreated { title } }',
      {},
      { after: eventId, onState: ({ status }) => states.push(status) },
    );
    for await (const event of stream) {
      if (event.type === 'data') received.push(event.data.postCreated.title);
      if (received.length === titles.length) break;
    }
    expect(received).toEqual(titles);
    expect(states).toEqual(['connecting', 'live', 'closed']);
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
