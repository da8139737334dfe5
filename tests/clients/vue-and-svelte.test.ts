import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { openBrowser } from '../support/processes/browser.ts';
import { startService } from './live-service.ts';
import { COMMENT, createReactProject, type ReactProject, signIn } from './react-page.ts';

let project: ReactProject;
beforeAll(async () => {
  project = await createReactProject();
  project.run('cp -r ../content-graph-api/examples/live-posts src/');
});
afterAll(() => project.remove());

it.each(['vue', 'svelte'])(
  'the page of docs/clients/%s.md shows each change, and publishes once',
  async (library) => {
    const service = await startService();
    const titles = Array.from({ length: 20 }, (_, number) => `post ${number + 1}`);
    await service.create(...titles);
    const folder = `src/live-posts/${library}`;
    await project.build(`/${folder}/main.js`, `dist-${library}`, `${folder}/vite.config.ts`);
    const origin = await project.serve(service, `dist-${library}`);
    const browser = await openBrowser(origin);
    onTestFinished(() => browser.close());
    const page = await browser.context.newPage();
    await page.goto(origin);
    await signIn(page, service.password);
    await page.reload();
    const items = () => page.getByRole('listitem').allInnerTexts();
    await expect.poll(() => page.getByRole('status').innerText()).toBe('live');
    await expect.poll(items).toEqual(titles.map((title) => `${title} (0)`).reverse());
    await page.getByRole('button', { name: 'More' }).click();
    await expect.poll(items).toContain('On loops (0)');

    await page.getByLabel('Title').fill('Written');
    await page.getByLabel('Text').fill('Once.');
    await page.getByRole('button', { name: 'Publish' }).dblclick();
    await expect.poll(async () => (await items())[0]).toBe('Written (0)');
    await expect.poll(() => page.getByLabel('Title').inputValue()).toBe('');
    expect((await items()).filter((item) => item.startsWith('Written'))).toHaveLength(1);

    const { data } = await service.query('{ posts(limit: 3) { id } }');
    const [, newest, second] = data.posts;
    await service.query(COMMENT, { ...newest, body: 'b' });
    await service.query('mutation ($id: ID!) { deletePost(id: $id) }', second);
    await expect.poll(async () => (await items()).slice(1, 3)).toEqual(['post 20 (1)', 'post 18 (0)']);
    await service.restart('SIGKILL', 'Missed');
    await page.evaluate(() => dispatchEvent(new Event('online')));
    await expect.poll(async () => (await items())[0]).toBe('Missed (0)');
  },
);
