import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startService } from './live-service.ts';
import { checkLivePosts, createReactProject, openLivePosts, type ReactProject } from './react-page.ts';

describe('the React hooks', () => {
  let project: ReactProject;
  beforeAll(async () => {
    project = await createReactProject();
  });
  afterAll(() => project.remove());

  it('need no library: one shows counts and deletions and resumes, under StrictMode', async () => {
    const service = await startService();
    project.run('cp -r ../content-graph-api/examples/clients/react src/clients/');
    await project.build('/src/clients/react/main.tsx', 'dist-hooks');
    const origin = await project.serve(service, 'dist-hooks');
    await checkLivePosts(service, origin, async (page) => {
      await service.end('SIGKILL');
      await expect.poll(() => page.getByRole('status').innerText()).toBe('reconnecting');
      await service.start();
      await service.create('Missed');
    });
  });

  it('miss nothing with urql and Apollo Client, under StrictMode', async () => {
    const service = await startService();
    const titles = Array.from({ length: 20 }, (_, number) => `post ${number + 1}`);
    await service.create(...titles);
    const pages: Page[] = [];
    for (const library of ['urql', 'apollo']) {
      project.run(`cp -r ../content-graph-api/examples/clients/${library} src/clients/`);
      await project.build(`/src/clients/${library}/latest-posts.tsx`, `dist-${library}`);
      const origin = await project.serve(service, `dist-${library}`);
      const page = await openLivePosts(service, origin);
      pages.push(page);
    }
    /** Apollo's page has no counts. */
    const shown = async (page: Page, count: number) => {
      const items = await page.getByRole('listitem').allInnerTexts();
      return items.slice(0, count).map((text) => text.replace(/ \(\d+\)$/, ''));
    };
    const show = (...expected: string[]) =>
      Promise.all(pages.map((page) => expect.poll(() => shown(page, expected.length)).toEqual(expected)));
    await show(...titles.toReversed());
    for (const page of pages) {
      await page.getByRole('button', { name: 'More' }).click();
      await expect.poll(() => shown(page, 100)).toContain('On loops');
    }

    const { data } = await service.query('{ posts(limit: 3) { id } }');
    const [, second, third] = data.posts;
    await service.query('mutation ($id: ID!) { updatePost(id: $id, title: "Edited") { id } }', second);
    await service.query('mutation ($id: ID!) { deletePost(id: $id) }', third);
    await service.create('New');
    const changed = ['New', 'post 20', 'Edited', 'post 17'];
    await show(...changed);
    await service.end('SIGKILL');
    await service.start();
    await service.create('Missed');
    await show('Missed', ...changed);
    for (const page of pages) {
      const items = await shown(page, 100);
      expect(items).toEqual([...new Set(items)]);
      expect(await page.getByRole('alert').count()).toBe(0);
    }
  });
});
