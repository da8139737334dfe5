import './document.ts';

import { describe, expect, it, onTestFinished } from 'vitest';
import { createEnvironment } from '../../examples/clients/relay/environment.ts';
import { showAuthor, showFeed, showThread } from '../../examples/clients/relay/main.tsx';
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

/** A page that goes with the test. */
function shown(show: (container: Element) => { unmount(): void }): Page {
  const page = openPage();
  const root = show(page.container);
  onTestFinished(() => root.unmount());
  return page;
}

describe('Relay', () => {
  it('pages through all posts and the posts of a user, each once', async () => {
    const service = await startService();
    await service.create('one', 'two', 'three');
    const environment = createEnvironment(service.url, service.headers);
    const feed = shown((container) => showFeed(container, environment));
    expect(await feed.readToTheEnd()).toEqual(await allTitles(service));

    const { data } = await service.query('{ viewer { id posts(limit: 100) { title } } }');
    const author = shown((container) => showAuthor(container, environment, data.viewer.id));
    expect(data.viewer.posts.length).toBeGreaterThan(2);
    expect(await author.readToTheEnd()).toEqual(titlesOf(data.viewer.posts));
  });

  it('pages through the comments on a post, reads it again by its id, and sends a comment once', async () => {
    const service = await startService();
    const { url, replayed } = await startLossyProxy(service.url, 2);
    const { data } = await service.query('mutation { createPost(title: "Discussed", body: "b") { id } }');
    const postId: string = data.createPost.id;
    const comment = (body: string) =>
      service.query(
        'mutation ($postId: ID!, $body: String!) { createComment(postId: $postId, body: $body) { id } }',
        { postId, body },
      );
    const bodies = ['first', 'second', 'third', 'fourth', 'fifth'];
    for (const body of bodies) await comment(body);
    const environment = createEnvironment(url, service.headers);
    const thread = shown((container) => showThread(container, environment, postId));
    expect(await thread.readToTheEnd()).toEqual(bodies);
    expect(thread.text()).toContain('Discussed (5)');

    await comment('sixth');
    await thread.click('Refresh');
    await until('the new count', () => thread.text().includes('Discussed (6)'));
    expect(await thread.readToTheEnd()).toEqual([...bodies, 'sixth']);

    for (const input of thread.container.querySelectorAll('input')) input.value = 'seventh';
    await thread.click('Send');
    await until('the comment', () => thread.text().includes('Discussed (7)'));
    expect(replayed).toEqual([false, true, true]);
    expect(thread.items()).toEqual([...bodies, 'sixth', 'seventh']);
  });

  it('shows each new post once and in order, over SIGKILL and over a shutdown', async () => {
    const service = await startService();
    const answers = countAnswers(service.origin);
    const environment = createEnvironment(service.url, service.headers);
    const feed = shown((container) => showFeed(container, environment));
    const before = await feed.readToTheEnd();
    const told = (title: string) => until(title, () => feed.items().includes(title));
    await until('the stream', () => answers.opened === 1);
    await service.create('one');
    await told('one');
    await service.restart('SIGKILL', 'two', 'three');
    await told('three');
    const { opened } = answers;
    await service.restart('SIGTERM', 'four');
    await until('the stream', () => answers.opened > opened);
    await service.create('five');
    await told('five');
    expect(feed.items()).toEqual(['five', 'four', 'three', 'two', 'one', ...before]);
    expect(feed.items()).toEqual(await allTitles(service));
  });
});
