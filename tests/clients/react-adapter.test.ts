import './document.ts';
import { QueryClientProvider, useInfiniteQuery } from '@tanstack/react-query';
import { createElement, type ReactNode, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  ContentGraphProvider,
  useConnectionState,
  useLiveQuery,
  useOnce,
} from '../../packages/client/src/adapters/react.ts';
import { createLiveCache, livePages, useOnceMutation } from '../../packages/client/src/adapters/tanstack.ts';
import { type Client, createClient, openChanges, readConnection } from '../../packages/client/src/index.ts';
import { until } from '../support/processes/process.ts';
import { type LiveService, startService } from './live-service.ts';
import { openPage } from './page.ts';

const POSTS = `query ($after: String) {
  postsConnection(first: 2, after: $after) { nodes { id title createdAt } pageInfo { hasNextPage endCursor } }
}`;
const CHANGES = 'subscription { changes { postId post { id title createdAt } } }';
const CREATE_POST =
  'mutation ($title: String!) { createPost(title: $title, body: "Body") { id title createdAt } }';

interface Post {
  readonly id: string;
  readonly title: string;
  readonly createdAt: string;
}
interface Change {
  readonly postId: string;
  readonly post: Post | null;
}
interface Posts {
  readonly postsConnection: {
    readonly nodes: readonly Post[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  };
}

const LIST = {
  document: POSTS,
  variables: (after: string | null) => ({ after }),
  list: ({ postsConnection }: Posts) => readConnection(postsConnection),
  changed: ({ postId, post }: Change) => ({ key: postId, item: post }),
};

function open(service: LiveService) {
  const client = createClient({ url: service.url, headers: service.headers });
  onTestFinished(() => client.close());
  return {
    client,
    changes: openChanges<{ changes: Change }, Change>(client, CHANGES, (data) => data.changes),
  };
}

function render(node: ReactNode) {
  const page = openPage();
  const root = createRoot(page.container);
  root.render(createElement(StrictMode, undefined, node));
  onTestFinished(() => root.unmount());
  return page;
}

const shows = (page: ReturnType<typeof openPage>, ...titles: string[]) =>
  until(`${titles}`, () => titles.every((title, index) => page.items()[index] === title));

function renderPage(titles: readonly string[], status: string, more: () => void, publish: () => void) {
  return createElement(
    'div',
    undefined,
    createElement('p', { role: 'status' }, status),
    titles.map((title) => createElement('li', { key: title }, title)),
    createElement('button', { type: 'button', onClick: more }, 'More'),
    createElement('button', { type: 'button', onClick: publish }, 'Publish'),
  );
}

function ReactPage(): ReactNode {
  const { items = [], more } = useLiveQuery<Posts, { after: string | null }, Post, Change>(LIST);
  const { status } = useConnectionState();
  const { send } = useOnce<{ createPost: Post }, { title: string }>(CREATE_POST, 'write');
  // A double click.
  const publish = () => void Promise.all([send({ title: 'Published' }), send({ title: 'Published' })]);
  return renderPage(
    items.map(({ title }) => title),
    status,
    more,
    publish,
  );
}

async function checkPage(
  service: LiveService,
  page: ReturnType<typeof openPage>,
  client: Client,
): Promise<void> {
  await shows(page, 'C', 'B');
  await page.click('More');
  await shows(page, 'C', 'B', 'A');
  await until('the stream', () => client.state.current.status === 'live');
  await page.click('Publish');
  await shows(page, 'Published', 'C', 'B', 'A');
  await service.restart('SIGKILL', 'Missed');
  client.retry();
  await shows(page, 'Missed', 'Published', 'C', 'B', 'A');
  const { data } = await service.query('{ posts(limit: 5) { title } }');
  expect(data.posts.filter(({ title }: Post) => title === 'Published')).toHaveLength(1);
}

describe('A page under StrictMode', () => {
  it('shows each change with the hooks, and sends a double click once', async () => {
    const service = await startService();
    await service.create('A', 'B', 'C');
    const { client, changes } = open(service);
    const page = render(createElement(ContentGraphProvider, { client, changes }, createElement(ReactPage)));
    await checkPage(service, page, client);
    await until('the state', () => page.text().startsWith('live'));
  });

  it('does so with TanStack Query', async () => {
    const service = await startService();
    await service.create('A', 'B', 'C');
    const { client, changes } = open(service);
    const cache = createLiveCache(changes);
    onTestFinished(() => cache.close());
    const options = livePages<Posts, { after: string | null }, Post, Change>(cache, LIST);
    function TanStackPage(): ReactNode {
      const { data, fetchNextPage } = useInfiniteQuery(options);
      const { mutate } = useOnceMutation<{ createPost: Post }, { title: string }, Change>(
        cache,
        CREATE_POST,
        'write',
      );
      const publish = () => {
        mutate({ title: 'Published' });
        mutate(
          { title: 'Published' },
          {
            onSuccess: ({ data: { createPost: post }, showChange }) => showChange({ postId: post.id, post }),
          },
        );
      };
      const titles = data?.pages.flatMap(({ items }) => items.map(({ title }) => title)) ?? [];
      return renderPage(titles, 'live', () => void fetchNextPage(), publish);
    }
    const page = render(
      createElement(QueryClientProvider, { client: cache.queryClient }, createElement(TanStackPage)),
    );
    await checkPage(service, page, client);
  });
});
