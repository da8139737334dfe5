import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { useSocket } from '../../support/socket.ts';
import { type EventStream, readEventStream } from '../../support/streams/event-stream.ts';

const TITLES = 'subscription { postCreated { title } }';

describe('Subscription.postCreated over Server-Sent Events', () => {
  const app = useApp();
  const socket = useSocket(app);
  let key = '';
  beforeAll(async () => {
    ({ key } = await app.account({ name: 'Ada' }));
  });

  const overPost = (query: string, credential = key) =>
    socket.fetch(
      '/graphql',
      graphqlPost(query, { key: credential, headers: { accept: 'text/event-stream' } }),
    );
  /** As a native EventSource asks: the key in the address, no header of one's own. */
  const overGet = (query: string, credential = key) =>
    socket.fetch(`/graphql?${new URLSearchParams({ query, api_key: credential })}`, {
      headers: { accept: 'text/event-stream' },
    });
  async function open(reply: Promise<Response>): Promise<EventStream> {
    const response = await reply;
    expect(response.status).toBe(200);
    return readEventStream(response);
  }
  async function createPost(title: string): Promise<string> {
    const { data } = await app.gql(
      'mutation ($title: String!) { createPost(title: $title, body: "b") { id } }',
      { key, variables: { title } },
    );
    return data.createPost.id;
  }

  it('answers as an event stream that nobody keeps or holds back', async () => {
    const { headers, status, body } = await overPost(TITLES);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(headers.get('cache-control')).toBe('no-store, no-transform');
    expect(headers.get('x-request-id')).toBeTruthy();
    await body?.cancel();
  });

  it.each([
    ['POST', overPost],
    ['GET', overGet],
  ])('sends a new post as `event: next` with the result, over %s', async (_method, subscribe) => {
    const stream = await open(subscribe('subscription { postCreated { id title author { name } } }'));
    const first = await stream.block();
    expect(first).toMatchObject({ retry: expect.stringMatching(/^\d+$/), data: undefined });
    const id = await createPost('live');
    const event = await stream.event();
    expect(event).toMatchObject({ event: 'next', data: expect.any(String) });
    expect(JSON.parse(event?.data ?? '')).toEqual({
      data: { postCreated: { id, title: 'live', author: { name: 'Ada' } } },
    });
  });

  it('gives each subscriber its own selection of the same event', async () => {
    const titles = await open(overPost(TITLES));
    const bodies = await open(
      overGet('subscription S { postCreated { post: body author { posts(limit: 1) { title } } } }'),
    );
    await createPost('shared');
    expect(await titles.next()).toEqual({ data: { postCreated: { title: 'shared' } } });
    expect(await bodies.next()).toEqual({
      data: { postCreated: { post: 'b', author: { posts: [{ title: 'shared' }] } } },
    });
  });
});

describe('a query over an event stream', () => {
  const app = useApp();

  it('is one `next` and `complete`', async () => {
    const { key } = await app.account({ name: 'Ada' });
    const response = await app.fetch(`/graphql?${new URLSearchParams({ query: '{ viewer { name } }' })}`, {
      headers: { accept: 'text/event-stream', authorization: `Bearer ${key}` },
    });
    const stream = readEventStream(response);
    expect(await stream.next()).toEqual({ data: { viewer: { name: 'Ada' } } });
    expect(await stream.event()).toMatchObject({ event: 'complete' });
    expect(await stream.event()).toBeUndefined();
  });
});
