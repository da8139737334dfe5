import './document.ts';

import { expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../examples/clients/apollo/client.ts';
import { showFeed } from '../../examples/clients/apollo/feed.tsx';
import { until } from '../support/processes/process.ts';
import { countAnswers } from './answers.ts';
import { startService } from './live-service.ts';
import { openPage } from './page.ts';

it("Apollo's hooks page through posts, and show new ones, edits and deletions, over SIGKILL and a shutdown", async () => {
  const service = await startService();
  const titles = Array.from({ length: 21 }, (_, number) => `post ${number}`);
  await service.create(...titles);
  const answers = countAnswers(service.origin);
  const page = openPage();
  const root = showFeed(page.container, createClient(service.url, service.key));
  onTestFinished(() => root.unmount());
  await until('the stream', () => answers.opened > 0);
  await page.readToTheEnd();
  expect(page.items()).toEqual(expect.arrayContaining([...titles, 'On loops']));
  const newest = (...expected: string[]) =>
    until(expected.join(), () => page.items().slice(0, expected.length).join() === expected.join());
  await service.create('one');
  await newest('one', 'post 20');
  await service.restart('SIGKILL', 'two', 'three');
  await newest('three', 'two', 'one', 'post 20');
  const { data } = await service.query('{ posts(limit: 2) { id } }');
  const [edited, deleted] = data.posts;
  await service.query('mutation ($id: ID!) { updatePost(id: $id, title: "3") { id } }', edited);
  await service.query('mutation ($id: ID!) { deletePost(id: $id) }', deleted);
  await newest('3', 'one', 'post 20');
  await service.restart('SIGTERM', 'four');
  await newest('four', '3', 'one', 'post 20');
  expect(new Set(page.items()).size).toBe(page.items().length);
});
