import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type ClientOptions,
  createClient,
  liveQuery,
  openChanges,
  readConnection,
} from '../../../packages/client/src/index.ts';
import { type Account, useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { until } from '../../support/processes/process.ts';
import { useSocket } from '../../support/socket.ts';

const app = useApp();
const socket = useSocket(app);

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

const POSTS = `query ($after: String, $first: Int) {
  postsConnection(after: $after, first: $first) { nodes { id title createdAt } pageInfo { hasNextPage endCursor } }
}`;
const CHANGES = 'subscription { changes { postId post { id title createdAt } } }';
const LIST = {
  document: POSTS,
  variables: (after: string | null) => ({ after, first: 2 }),
  list: ({ postsConnection }: Posts) => readConnection(postsConnection),
  changed: ({ postId, post }: Change) => ({ key: postId, item: post }),
};

/** A tab: a client of its own that counts its requests. */
function openTab({ id, key }: Account, options: Partial<ClientOptions> = {}) {
  const counts = { streams: 0, queries: 0 };
  const client = createClient({
    url: `${socket.origin}/graphql`,
    headers: { authorization: `Bearer ${key}` },
    identity: id,
    fetch: (input, init) => {
      const isStream = new Headers(init?.headers).get('accept') === 'text/event-stream';
      counts[isStream ? 'streams' : 'queries'] += 1;
      return fetch(input, init);
    },
    ...options,
  });
  onTestFinished(() => client.close());
  const changes = openChanges<{ changes: Change }, Change>(client, CHANGES, (data) => data.changes);
  return { client, changes, counts };
}

type Tab = ReturnType<typeof openTab>;

const openList = ({ changes }: Tab, options: Partial<typeof LIST & { initial: never }> = {}) =>
  liveQuery<Posts, { after: string | null; first: number }, Post, Change>(changes, { ...LIST, ...options });

const shows = (list: ReturnType<typeof openList>, ...titles: string[]) =>
  until(`the titles ${titles}`, () => {
    const shown = list.current.items?.map(({ title }) => title) ?? [];
    return titles.every((title, index) => shown[index] === title) && !list.current.isReading;
  });

describe('A live list', () => {
  it('shows what the query returns, and then each change', async () => {
    const account = await app.account();
    const id = await createPost(app, account.key, { title: 'First' });
    const tab = openTab(account);
    const list = openList(tab);
    await shows(list, 'First');
    await until('the stream', () => tab.changes.state.current.status === 'live');
    await createPost(app, account.key, { title: 'Second' });
    await shows(list, 'Second', 'First');
    await app.gql('mutation ($id: ID!) { updatePost(id: $id, title: "Changed") { id } }', {
      key: account.key,
      variables: { id },
    });
    await shows(list, 'Second', 'Changed');
    await app.gql('mutation ($id: ID!) { deletePost(id: $id) }', { key: account.key, variables: { id } });
    await until('the deletion', () => list.current.items?.every(({ title }) => title !== 'Changed'));
    expect(tab.counts).toEqual({ streams: 1, queries: 1 });
    expect(tab.client.state.current).toMatchObject({ status: 'live' });
  });

  it('reads further pages, and leaves to them what belongs there', async () => {
    const account = await app.account();
    for (const title of ['A', 'B', 'C', 'D']) await createPost(app, account.key, { title });
    const list = openList(openTab(account));
    await shows(list, 'D', 'C');
    expect(list.current).toMatchObject({ hasMore: true, error: undefined });
    expect(list.current.items).toHaveLength(2);
    await list.more();
    expect(list.current.items?.map(({ title }) => title)).toEqual(['D', 'C', 'B', 'A']);
    await list.refresh();
    expect(list.current.items?.slice(0, 4).map(({ title }) => title)).toEqual(['D', 'C', 'B', 'A']);
  });

  it('says why it cannot be read, and does not read again what is rejected', async () => {
    const account = await app.account();
    const list = openList(openTab(account), { variables: () => ({ after: null, first: 500 }) });
    await until('the error', () => list.current.error !== undefined);
    expect(list.current).toMatchObject({ items: undefined, isReading: false });
    expect(list.current.error).toMatchObject({ code: 'BAD_USER_INPUT', argument: 'first' });
  });
});

it('A list tells when it is read again, and is', async () => {
  const account = await app.account();
  await createPost(app, account.key, { title: 'Read later' });
  let isBusy = true;
  const list = openList(
    openTab(account, {
      fetch: async (input, init) =>
        isBusy
          ? Response.json({ errors: [] }, { status: 503, headers: { 'retry-after': '1' } })
          : fetch(input, init),
    }),
  );
  await until('the error', () => list.current.error !== undefined);
  expect(list.current).toMatchObject({ isReading: true, retryAtMs: expect.any(Number) });
  isBusy = false;
  await shows(list, 'Read later');
  expect(list.current).toMatchObject({ error: undefined, retryAtMs: undefined });
});

describe('Tabs of one account', () => {
  it('share one stream, and another tab continues when the leader is closed', async () => {
    const account = await app.account();
    const tabs = [openTab(account), openTab(account), openTab(account)] as const;
    const lists = tabs.map((tab) => openList(tab));
    await until('all tabs', () => tabs.every(({ changes }) => changes.state.current.status === 'live'));
    await createPost(app, account.key, { title: 'For all' });
    for (const list of lists) await shows(list, 'For all');
    expect(tabs.map(({ counts }) => counts.streams).toSorted()).toEqual([0, 0, 1]);
    const [leader] = tabs.filter(({ counts }) => counts.streams === 1);
    const others = tabs.filter((tab) => tab !== leader);
    const queries = others.map(({ counts }) => counts.queries);
    leader?.client.close();
    await createPost(app, account.key, { title: 'For the others' });
    for (const [index, tab] of tabs.entries())
      if (tab !== leader) await shows(lists[index] ?? openList(tab), 'For the others', 'For all');
    expect(others.map(({ counts }) => counts.streams).toSorted()).toEqual([0, 1]);
    // Nothing was lost, so no list was read again.
    expect(others.map(({ counts }) => counts.queries)).toEqual(queries);
  });

  it('take a rendered page as it is, also in a second tab that comes later', async () => {
    const account = await app.account();
    await createPost(app, account.key, { title: 'Rendered' });
    const server = openTab(account);
    const initial = await server.client.snapshot<Posts, object>(POSTS, { after: null, first: 2 });
    server.client.close();
    const first = openTab(account);
    const firstList = liveQuery(first.changes, { ...LIST, initial });
    await until('the stream', () => first.changes.state.current.status === 'live');
    await createPost(app, account.key, { title: 'Later' });
    await shows(firstList, 'Later', 'Rendered');
    const second = openTab(account);
    const secondList = liveQuery(second.changes, { ...LIST, initial });
    await shows(secondList, 'Later', 'Rendered');
    expect([first.counts, second.counts]).toEqual([
      { streams: 1, queries: 0 },
      { streams: 0, queries: 0 },
    ]);
  });

  it('read again what was rendered for another account, or too long ago', async () => {
    const account = await app.account();
    await createPost(app, account.key, { title: 'Mine' });
    const tab = openTab(account);
    const data = { postsConnection: { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } } };
    const foreign = liveQuery(tab.changes, { ...LIST, initial: { data, eventId: 'x', identity: 'other' } });
    await shows(foreign, 'Mine');
    const old = liveQuery(tab.changes, { ...LIST, initial: { data, eventId: 'x', identity: account.id } });
    await shows(old, 'Mine');
  });

  it('without an identity have streams of their own', async () => {
    const account = await app.account();
    const tabs = [openTab(account, { identity: undefined }), openTab(account, { identity: undefined })];
    const lists = tabs.map((tab) => openList(tab));
    await until('both streams', () => tabs.every(({ changes }) => changes.state.current.status === 'live'));
    await createPost(app, account.key, { title: 'For both' });
    for (const list of lists) await shows(list, 'For both');
    expect(tabs.map(({ counts }) => counts.streams)).toEqual([1, 1]);
  });

  it('show a change of their own before the stream brings it', async () => {
    const account = await app.account();
    const tab = openTab(account);
    const list = openList(tab);
    await until('the stream', () => tab.changes.state.current.status === 'live');
    const showChange = tab.changes.optimisticChange();
    const post = { id: 'x', title: 'Mine', createdAt: '2999-01-01T00:00:00.000Z' };
    showChange({ postId: 'x', post });
    expect(list.current.items?.[0]).toEqual(post);
    const tooLate = tab.changes.optimisticChange();
    await createPost(app, account.key, { title: 'Of another client' });
    await until('the event', () => list.current.items?.some(({ title }) => title === 'Of another client'));
    tooLate({ postId: 'y', post: { ...post, id: 'y' } });
    expect(list.current.items?.some(({ id }) => id === 'y')).toBe(false);
  });
});
