import './document.ts';

import { createClient } from 'content-graph-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRelaySession, type RelaySession } from '../../examples/clients/relay/environment.ts';
import { showAuthor, showFeed, showThread } from '../../examples/clients/relay/main.tsx';
import type { FirstPage } from '../../examples/clients/relay/thread.tsx';
import { until } from '../support/processes/process.ts';
import { countAnswers } from './answers.ts';
import { type LiveService, startService } from './live-service.ts';
import { startLossyProxy } from './lossy-proxy.ts';
import { openPage, type Page } from './page.ts';

function titlesOf(posts: readonly { readonly title: string }[]): readonly string[] {
  return posts.map(({ title }) => title);
}

async function allTitles(service: LiveService): Promise<readonly string[]> {
  const { data } = await service.query('{ posts(limit: 100) { title } }');
  return titlesOf(data.posts);
}

function open({ url, headers }: Pick<LiveService, 'url' | 'headers'>): RelaySession {
  const client = createClient({ url, headers });
  onTestFinished(() => client.close());
  return createRelaySession(client);
}

/** A page that goes with the test. */
function shown(show: (container: Element) => { unmount(): void }): Page {
  const page = openPage();
  const root = show(page.container);
  onTestFinished(() => root.unmount());
  return page;
}

/** A post with these comments. Resolves to its id. */
async function createThread(service: LiveService, bodies: readonly string[]): Promise<string> {
  const { data } = await service.query('mutation { createPost(title: "Discussed", body: "b") { id } }');
  for (const body of bodies) await createComment(service, data.createPost.id, body);
  return data.createPost.id;
}

async function createComment(service: LiveService, postId: string, body: string): Promise<string> {
  const query =
    'mutation ($postId: ID!, $body: String!) { createComment(postId: $postId, body: $body) { id } }';
  const { data } = await service.query(query, { postId, body });
  return data.createComment.id;
}

describe('Relay', () => {
  it('pages through all posts and the posts of a user, each once', async () => {
    const service = await startService();
    await service.create('one', 'two', 'three');
    const session = open(service);
    const feed = shown((container) => showFeed(container, session));
    expect(await feed.readToTheEnd()).toEqual(await allTitles(service));

    const { data } = await service.query('{ viewer { id posts(limit: 100) { title } } }');
    const author = shown((container) => showAuthor(container, session, data.viewer.id));
    expect(data.viewer.posts.length).toBeGreaterThan(2);
    expect(await author.readToTheEnd()).toEqual(titlesOf(data.viewer.posts));
  });

  it('pages through the comments on a post, reads it again by its id, and sends a comment once', async () => {
    const service = await startService();
    const { url, replayed } = await startLossyProxy(service.url, 2);
    const bodies = ['first', 'second', 'third', 'fourth', 'fifth'];
    const postId = await createThread(service, bodies);
    const session = open({ ...service, url });
    const thread = shown((container) => showThread(container, session, postId));
    expect(await thread.readToTheEnd()).toEqual(bodies);
    expect(thread.text()).toContain('Discussed (5)');

    await createComment(service, postId, 'sixth');
    await thread.click('Refresh');
    await until('the new count', () => thread.text().includes('Discussed (6)'));
    expect(await thread.readToTheEnd()).toEqual([...bodies, 'sixth']);

    for (const input of thread.container.querySelectorAll('input')) input.value = 'seventh';
    await thread.click('Send');
    await until('the comment', () => thread.text().includes('Discussed (7)'));
    expect(replayed).toEqual([false, true, true]);
    expect(thread.items()).toEqual([...bodies, 'sixth', 'seventh']);
  });

  it('pages through a list forwards, backwards, and in both directions from within: the same rows', async () => {
    const service = await startService();
    const bodies = Array.from({ length: 9 }, (_, number) => `comment ${number}`);
    const postId = await createThread(service, bodies);
    // In a store of its own each: a store has one list of these comments.
    const threadFrom = (page: FirstPage) =>
      shown((container) => showThread(container, open(service), postId, page));
    expect(await threadFrom({ first: 2 }).readToTheEnd()).toEqual(bodies);
    expect(await threadFrom({ last: 2 }).readToTheEnd('Earlier')).toEqual(bodies);
    const { data } = await service.query(
      'query ($id: ID!) { post(id: $id) { commentsConnection(first: 4) { pageInfo { endCursor } } } }',
      { id: postId },
    );
    const after = data.post.commentsConnection.pageInfo.endCursor;
    const within = threadFrom({ first: 2, after });
    expect(await within.readToTheEnd('Earlier')).toEqual(bodies.slice(0, 6));
    expect(await within.readToTheEnd()).toEqual(bodies);
    const other = threadFrom({ last: 1, before: after });
    expect(await other.readToTheEnd()).toEqual(bodies.slice(2));
    expect(await other.readToTheEnd('Earlier')).toEqual(bodies);
  });

  it('shows edits and deletions in all lists, and counts that fall', async () => {
    const service = await startService();
    await service.create('one', 'two');
    const postId = await createThread(service, ['stays']);
    const commentId = await createComment(service, postId, 'goes');
    const answers = countAnswers(service.origin);
    const session = open(service);
    const feed = shown((container) => showFeed(container, session));
    const before = await feed.readToTheEnd();
    const { data } = await service.query('{ viewer { id posts(limit: 3) { id title } } }');
    const author = shown((container) => showAuthor(container, session, data.viewer.id));
    await author.readToTheEnd();
    const thread = shown((container) => showThread(container, session, postId));
    await until('the streams', () => answers.opened >= 2);
    expect(thread.items()).toEqual(['stays', 'goes']);

    await service.query('mutation ($id: ID!) { deleteComment(id: $id) }', { id: commentId });
    await until('the count', () => thread.text().includes('Discussed (1)'));
    expect(thread.items()).toEqual(['stays']);
    const [, two, one] = data.viewer.posts;
    await service.query('mutation ($id: ID!) { updatePost(id: $id, title: "1") { id } }', one);
    await service.query('mutation ($id: ID!) { deletePost(id: $id) }', two);
    // Each list renders on its own.
    for (const list of [feed, author]) await until('the deletion', () => !list.items().includes('two'));
    expect(feed.items()).toEqual(['Discussed', '1', ...before.slice(3)]);
    expect(author.items().slice(0, 2)).toEqual(['Discussed', '1']);
  });

  it('shows what has happened between the response and the stream', async () => {
    const service = await startService();
    const answers = countAnswers(service.origin);
    const send = fetch;
    const gate = Promise.withResolvers<void>();
    globalThis.fetch = async (input, init) => {
      if (new Headers(init?.headers).get('accept') === 'text/event-stream') await gate.promise;
      return send(input, init);
    };
    onTestFinished(() => {
      globalThis.fetch = send;
    });
    const session = open(service);
    const feed = shown((container) => showFeed(container, session));
    const before = await feed.readToTheEnd();
    await service.create('between');
    gate.resolve();
    await until('the stream', () => answers.opened >= 1);
    await service.create('after');
    await until('the last', () => feed.items().includes('after'));
    expect(feed.items()).toEqual(['after', 'between', ...before]);
  });

  it('leaves out what is deleted while the next page is read', async () => {
    const service = await startService();
    await service.create('kept', 'goes', 'edited', 'fourth', 'fifth');
    const { data } = await service.query('{ posts(limit: 4) { id title } }');
    const idOf = (title: string) => data.posts.find((post: { title: string }) => post.title === title);
    const session = open(service);
    const feed = shown((container) => showFeed(container, session));
    await until('the first page', () => feed.items().length === 2);
    const answered = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const send = fetch;
    globalThis.fetch = async (input, init) => {
      const response = await send(input, init);
      if (!String(init?.body).includes('feedNextPageQuery')) return response;
      const text = await response.text();
      answered.resolve();
      await gate.promise;
      return new Response(text, response);
    };
    onTestFinished(() => {
      globalThis.fetch = send;
    });
    await feed.click('More');
    await answered.promise;
    await service.query('mutation ($id: ID!) { deletePost(id: $id) }', idOf('goes'));
    await service.query(
      'mutation ($id: ID!) { updatePost(id: $id, title: "Edited") { id } }',
      idOf('edited'),
    );
    await service.create('after');
    await until('the last', () => feed.items().includes('after'));
    gate.resolve();
    await until('the next page', () => feed.items().length > 3);
    expect((await feed.readToTheEnd()).slice(0, 5)).toEqual(['after', 'fifth', 'fourth', 'Edited', 'kept']);
  });
});
