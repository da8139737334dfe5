import { describe, expect, it } from 'vitest';
import * as codegen from '../../examples/clients/codegen/posts.ts';
import { createApi } from '../../examples/clients/gql-tada/api.ts';
import * as tada from '../../examples/clients/gql-tada/posts.ts';
import { createUrqlClient } from '../../examples/clients/urql/client.ts';
import * as urql from '../../examples/clients/urql/posts.ts';
import { runShell } from '../support/processes/process.ts';
import { type LiveService, startService } from './live-service.ts';
import { startLossyProxy } from './lossy-proxy.ts';

/** How often there is a post with this title. */
async function countOf(service: LiveService, title: string): Promise<number> {
  const { data } = await service.query('{ posts(limit: 100) { title } }');
  return (data.posts as { title: string }[]).filter((post) => post.title === title).length;
}

describe('fetch with gql.tada', () => {
  it('reads page by page, creates a post once though answers are lost, and throws errors with their codes', async () => {
    const service = await startService();
    const { url, replayed } = await startLossyProxy(service.url, 2);
    const titles = Array.from({ length: 53 }, (_, number) => `post ${number}`);
    await service.create(...titles);
    const api = createApi(url, service.headers);
    const posts = await Array.fromAsync(tada.postsWithTag(api, 'told'));
    expect(posts.map(({ title }) => title)).toEqual(titles.toReversed());
    const post = { title: 'once', body: 'b' };
    const { id } = await tada.createPost(api, post, 'task 1');
    expect(replayed).toEqual([false, true, true]);
    expect(await tada.createPost(api, post, 'task 1')).toMatchObject({ id });
    expect(await countOf(service, 'once')).toBe(1);
    await expect(tada.createPost(api, { title: '', body: 'b' }, 'task 2')).rejects.toMatchObject({
      errors: [{ path: ['createPost'], extensions: { code: 'BAD_USER_INPUT', argument: 'title' } }],
    });
    const stranger = tada.postsWithTag(createApi(url, { authorization: 'Bearer nobody' }), 'told');
    await expect(stranger.next()).rejects.toMatchObject({
      errors: [{ extensions: { code: 'UNAUTHENTICATED' } }],
    });
  });
});

describe('urql', () => {
  it('reads, creates a post once though answers are lost, and throws errors with their codes', async () => {
    const service = await startService();
    const { url, replayed } = await startLossyProxy(service.url, 2);
    const client = createUrqlClient(url, service.headers);
    await service.create('older');
    expect(await urql.newestPosts(client, 1)).toMatchObject([{ title: 'older' }]);
    const post = { title: 'once', body: 'b' };
    const { id } = await urql.createPost(client, post, 'task 1');
    expect(replayed).toEqual([false, true, true]);
    expect(await urql.createPost(client, post, 'task 1')).toMatchObject({ id });
    expect(await countOf(service, 'once')).toBe(1);
    // The mutation has told the cache that its posts are out of date.
    expect(await urql.newestPosts(client, 1)).toMatchObject([{ id, title: 'once' }]);
    await expect(urql.newestPosts(client, 101)).rejects.toMatchObject({
      graphQLErrors: [{ extensions: { code: 'BAD_USER_INPUT', argument: 'limit' } }],
    });
    const stranger = createUrqlClient(url, { authorization: 'Bearer nobody' });
    await expect(urql.newestPosts(stranger, 1)).rejects.toMatchObject({ response: { status: 401 } });
  });
});

describe('graphql-codegen', () => {
  it('reads pages, creates a post once though answers are lost, and throws errors with their codes', async () => {
    const service = await startService();
    const { url, replayed } = await startLossyProxy(service.url, 2);
    const credentials = { url, headers: service.headers };
    await service.create('one', 'two', 'three');
    const first = await codegen.newestPosts(credentials, 2);
    expect(first.nodes.map(({ title }) => title)).toEqual(['three', 'two']);
    const second = await codegen.newestPosts(credentials, 1, first.pageInfo.endCursor ?? '');
    expect(second.nodes.map(({ title }) => title)).toEqual(['one']);
    const post = { title: 'once', body: 'b' };
    const id = await codegen.createPost(credentials, post, 'task 1');
    expect(replayed).toEqual([false, true, true]);
    expect(await codegen.createPost(credentials, post, 'task 1')).toBe(id);
    expect(await countOf(service, 'once')).toBe(1);
    await expect(codegen.newestPosts(credentials, 101)).rejects.toMatchObject({
      response: { errors: [{ extensions: { code: 'BAD_USER_INPUT', argument: 'first' } }] },
    });
  });
});

describe('curl', () => {
  it('reads, creates a post once though answers are lost, and gets an address that needs no header', async () => {
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
