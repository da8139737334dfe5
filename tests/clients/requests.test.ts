import { type Client, createClient } from 'content-graph-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import * as codegen from '../../examples/clients/codegen/posts.ts';
import * as tada from '../../examples/clients/gql-tada/posts.ts';
import { createUrqlClient } from '../../examples/clients/urql/client.ts';
import * as urql from '../../examples/clients/urql/posts.ts';
import { runShell } from '../support/processes/process.ts';
import { type LiveService, startService } from './live-service.ts';
import { startLossyProxy } from './lossy-proxy.ts';

/** A client that is closed with the test. */
function open(url: string, { headers }: Pick<LiveService, 'headers'>): Client {
  const client = createClient({ url, headers });
  onTestFinished(() => client.close());
  return client;
}

const STRANGER = { headers: { authorization: 'Bearer unknown' } };

/** How often there is a post with this title. */
async function countOf(service: LiveService, title: string): Promise<number> {
  const { data } = await service.query('{ posts(limit: 100) { title } }');
  return (data.posts as { title: string }[]).filter((post) => post.title === title).length;
}

describe('gql.tada', () => {
  it('reads page by page, creates a post once though responses are lost, and throws errors with their codes', async () => {
    const service = await startService();
    const { url, replayed } = await startLossyProxy(service.url, 2);
    const titles = Array.from({ length: 53 }, (_, number) => `post ${number}`);
    await service.create(...titles);
    const client = open(url, service);
    const posts = await Array.fromAsync(tada.readPostsWithTag(client, 'told'));
    expect(posts.map(({ title }) => title)).toEqual(titles.toReversed());
    const post = { title: 'once', body: 'b' };
    const { id } = await tada.createPost(client, post, 'task 1');
    expect(replayed).toEqual([false, true, true]);
    expect(await tada.createPost(client, post, 'task 1')).toMatchObject({ id });
    expect(await countOf(service, 'once')).toBe(1);
    await expect(tada.createPost(client, { title: '', body: 'b' }, 'task 2')).rejects.toMatchObject({
      code: 'BAD_USER_INPUT',
      argument: 'title',
    });
    const stranger = tada.readPostsWithTag(open(url, STRANGER), 'told');
    await expect(stranger.next()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });
});

describe('urql', () => {
  it('reads, creates a post once though responses are lost, and throws errors with their codes', async () => {
    const service = await startService();
    const { url, replayed } = await startLossyProxy(service.url, 2);
    const client = createUrqlClient(open(url, service));
    await service.create('older');
    expect(await urql.readNewestPosts(client, 1)).toMatchObject([{ title: 'older' }]);
    const post = { title: 'once', body: 'b' };
    const { id } = await urql.createPost(client, post, 'task 1');
    expect(replayed).toEqual([false, true, true]);
    expect(await urql.createPost(client, post, 'task 1')).toMatchObject({ id });
    expect(await countOf(service, 'once')).toBe(1);
    // The mutation has told the cache that its posts are out of date.
    expect(await urql.readNewestPosts(client, 1)).toMatchObject([{ id, title: 'once' }]);
    await expect(urql.readNewestPosts(client, 101)).rejects.toMatchObject({
      graphQLErrors: [{ extensions: { code: 'BAD_USER_INPUT', argument: 'limit' } }],
    });
    const stranger = createUrqlClient(open(url, STRANGER));
    await expect(urql.readNewestPosts(stranger, 1)).rejects.toMatchObject({
      graphQLErrors: [{ extensions: { code: 'UNAUTHENTICATED' } }],
    });
  });
});

describe('graphql-codegen', () => {
  it('reads pages, creates a post once though responses are lost, and throws errors with their codes', async () => {
    const service = await startService();
    const { url, replayed } = await startLossyProxy(service.url, 2);
    const client = open(url, service);
    await service.create('one', 'two', 'three');
    const first = await codegen.readNewestPosts(client, 2);
    expect(first.nodes.map(({ title }) => title)).toEqual(['three', 'two']);
    const second = await codegen.readNewestPosts(client, 1, first.pageInfo.endCursor ?? '');
    expect(second.nodes.map(({ title }) => title)).toEqual(['one']);
    const post = { title: 'once', body: 'b' };
    const id = await codegen.createPost(client, post, 'task 1');
    expect(replayed).toEqual([false, true, true]);
    expect(await codegen.createPost(client, post, 'task 1')).toBe(id);
    expect(await countOf(service, 'once')).toBe(1);
    await expect(codegen.readNewestPosts(client, 101)).rejects.toMatchObject({
      code: 'BAD_USER_INPUT',
      argument: 'first',
    });
  });
});

describe('curl', () => {
  it('reads, creates a post once though responses are lost, and gets a URL that needs no header', async () => {
    const service = await startService();
    const { url, replayed } = await startLossyProxy(service.url, 1);
    const run = async (script: string, origin: string, input = '') => {
      const line = `printf %s "$INPUT" | examples/clients/curl/${script}`;
      const { code, stdout } = await runShell(line, { ORIGIN: origin, KEY: service.key, INPUT: input });
      expect(code).toBe(0);
      return stdout;
    };
    const through = new URL(url).origin;
    const variables = { title: 'It’s "once"' };
    const query =
      'mutation ($title: String!) { createPost(title: $title, body: "b", tags: ["curl"]) { id } }';
    const created = JSON.parse(
      await run('mutate.sh "task 1"', through, JSON.stringify({ query, variables })),
    );
    expect(replayed).toEqual([false, true]);
    const read = {
      query: 'query ($tag: String!) { posts(tag: $tag) { id title } }',
      variables: { tag: 'curl' },
    };
    expect(JSON.parse(await run('query.sh', through, JSON.stringify(read)))).toEqual({
      data: { posts: [{ id: created.data.createPost.id, ...variables }] },
    });

    const address = (await run('stream-address.sh', service.origin)).trim();
    const response = await fetch(address, { headers: { accept: 'text/event-stream' } });
    expect(response.status).toBe(200);
    await response.body?.cancel();
  });
});
