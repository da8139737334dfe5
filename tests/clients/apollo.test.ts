import type { ApolloClient } from '@apollo/client';
import { createClient } from 'content-graph-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createApolloClient } from '../../examples/clients/apollo/client.ts';
import {
  applyChange,
  CHANGES,
  createPost,
  followPosts,
  insertPost,
  POST,
  POSTS,
  type PostChangeResult,
} from '../../examples/clients/apollo/posts.ts';
import { until } from '../support/processes/process.ts';
import { countAnswers } from './answers.ts';
import { type LiveService, startService } from './live-service.ts';

function open({ url, headers }: Pick<LiveService, 'url' | 'headers'>): ApolloClient {
  const client = createClient({ url, headers });
  onTestFinished(() => client.close());
  return createApolloClient(client);
}

function titleOf({ data, error }: PostChangeResult): string {
  return data?.changes.post?.title ?? String(error);
}

describe('Apollo Client', () => {
  it('reads pages into one list of its cache, and single posts from that list', async () => {
    const service = await startService();
    await service.create('one', 'two', 'three', 'four', 'five');
    const client = open(service);
    const posts = client.watchQuery({ query: POSTS, variables: { first: 2 } });
    const subscription = posts.subscribe(() => undefined);
    onTestFinished(() => subscription.unsubscribe());
    const list = () => posts.getCurrentResult().data?.postsConnection;
    const titles = () => list()?.edges?.map((edge) => edge?.node?.title);
    await until('the first page', () => titles()?.length === 2);
    expect(titles()).toEqual(['five', 'four']);
    await posts.fetchMore({ variables: { after: list()?.pageInfo?.endCursor ?? null } });
    await until('the second page', () => titles()?.length === 4);
    expect(titles()).toEqual(['five', 'four', 'three', 'two']);

    // Without the service: what follows comes from the cache.
    await service.end('SIGKILL');
    const again = await client.query({ query: POSTS, variables: { first: 2 } });
    expect(again.data?.postsConnection.edges).toHaveLength(4);
    const two = again.data?.postsConnection.edges[3]?.node;
    const single = await client.query({ query: POST, variables: { id: two?.id ?? '' } });
    expect(single.data?.post).toEqual(two);
  });

  it('applies the changes that it is told of: new posts come once, edits show, deleted posts go with their comments', async () => {
    const service = await startService();
    const answers = countAnswers(service.origin);
    await service.create('older', 'old');
    const client = open(service);
    const { data } = await client.query({ query: POSTS, variables: { first: 2 } });
    const [old, older] = data?.postsConnection.edges.map(({ node }) => node.id) ?? [];
    const received: PostChangeResult[] = [];
    const following = followPosts(client).subscribe((result) => {
      received.push(result);
      if (result.data !== undefined) applyChange(client, result.data.changes);
    });
    onTestFinished(() => following.unsubscribe());
    const titles = () => {
      const list = client.cache.readQuery({ query: POSTS });
      return list?.postsConnection.edges.map(({ node }) => node.title);
    };
    await until('the stream', () => answers.opened >= 1);
    const own = await createPost(client, 'own', 'b');
    insertPost(client, await createPost(client, 'new', 'b'));
    insertPost(client, own);
    expect(titles()).toEqual(['new', 'own', 'old', 'older']);
    // Further down than was read: its page brings it.
    const unread = await service.query('{ posts(limit: 1, offset: 4) { __typename id title createdAt } }');
    insertPost(client, unread.data.posts[0]);
    await until('two events', () => received.length === 2);
    expect(titles()).toEqual(['new', 'own', 'old', 'older']);
    await service.query('mutation ($id: ID!) { updatePost(id: $id, title: "edited") { id } }', { id: older });
    await until('an edit', () => received.length === 3);
    expect(titles()).toEqual(['new', 'own', 'old', 'edited']);
    await service.query('mutation ($id: ID!) { deletePost(id: $id) }', { id: old });
    await until('a deletion', () => received.length === 4);
    expect(titles()).toEqual(['new', 'own', 'edited']);
    expect(client.cache.extract()).not.toHaveProperty([`Post:${old}`]);
  });

  it('follows from the event id of a query, so that nothing between the two is missed', async () => {
    const service = await startService();
    const client = open(service);
    const ids: string[] = [];
    const onEventId = (id: string) => void ids.push(id);
    await client.query({ query: POSTS, variables: { first: 2 }, context: { onEventId } });
    await service.create('between');
    const received: string[] = [];
    const following = client
      .subscribe({ query: CHANGES, context: { after: ids[0] } })
      .subscribe((result) => void received.push(titleOf(result)));
    onTestFinished(() => following.unsubscribe());
    await until('the event', () => received.length > 0);
    expect(received).toEqual(['between']);
    expect(ids).toHaveLength(1);
  });
});
