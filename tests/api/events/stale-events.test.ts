import { expect, it, vi } from 'vitest';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { dataOf } from '../../support/refusal.ts';
import { subscribe, titlesOf } from '../../support/subscriber.ts';

const app = useApp();
const POSTS = 20;

it('a slow subscriber gets no post that was deleted since it was read along with others', async () => {
  const { key } = await app.account();
  const { startId: header, close } = await subscribe(app, { key });
  await close();
  let last = '';
  for (let n = 1; n <= POSTS; n += 1) last = await createPost(app, key, { title: `post ${n}` });
  const slow = await subscribe(app, { key, header });
  expect((await slow.receive()).title).toBe('post 1');
  dataOf(await app.gql('mutation ($id: ID!) { deletePost(id: $id) }', { key, variables: { id: last } }));
  // Time passes before it takes the next one.
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + 5_000);
  await createPost(app, key, { title: 'end' });
  const titles = titlesOf(await slow.until('end'));
  expect(titles).toContain(`post ${POSTS - 1}`);
  expect(titles).not.toContain(`post ${POSTS}`);
});
