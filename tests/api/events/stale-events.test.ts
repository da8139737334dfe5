import { expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { readMetric } from '../../support/metrics.ts';
import { dataOf } from '../../support/rejection.ts';
import { subscribe, titlesOf } from '../../support/streams/subscriber.ts';

const app = useApp();
const POSTS = 40;
const BODY = 'b'.repeat(30_000);
const QUERY = 'subscription { postCreated { title body } }';

it('a slow subscriber gets no post that was deleted before it had taken in those before', async () => {
  const { key } = await app.account();
  const { startId: header, close } = await subscribe(app, { key });
  await close();
  let last = '';
  for (let n = 1; n <= POSTS; n += 1) last = await createPost(app, key, { title: `post ${n}`, body: BODY });
  const slow = await subscribe(app, { key, header, query: QUERY });
  expect((await slow.receive()).title).toBe('post 1');
  // It takes in nothing more: what waits for it is bounded, and the last post is far beyond.
  await expect.poll(() => readMetric(app, 'content_graph_event_streams_lagging')).toBe(1);
  dataOf(await app.gql('mutation ($id: ID!) { deletePost(id: $id) }', { key, variables: { id: last } }));
  await createPost(app, key, { title: 'end' });
  const titles = titlesOf(await slow.until('end'));
  expect(titles).toContain(`post ${POSTS - 1}`);
  expect(titles).not.toContain(`post ${POSTS}`);
});
