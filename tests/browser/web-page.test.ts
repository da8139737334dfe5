import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { freePort, freePorts } from '../../scripts/cluster/processes.ts';
import { blockOf, createWebPage, nginxOf, type WebPage, withPorts } from '../support/docs/web-page.ts';
import { startNginx } from '../support/nginx.ts';
import { openBrowser } from '../support/processes/browser.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { createPosts } from '../support/processes/posts.ts';
import { runScript } from '../support/processes/process.ts';
import { admin, demoKey, productionSettings, startServer } from '../support/processes/server.ts';

const PASSWORD = 'a long password of the test';
const ENDED = 'Your session has ended. Sign in to go on.';

async function demoPassword(dataDir: string): Promise<string> {
  const { password } = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8')) as { password: string };
  return password;
}

async function logIn(page: Page, password: string, name = 'ada'): Promise<void> {
  await page.getByLabel('E-mail').fill(`${name}@example.com`);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

const state = (page: Page) => page.getByRole('status').innerText();
const problem = (page: Page) => page.getByRole('alert').innerText();
const posts = (page: Page) => page.getByRole('listitem').allInnerTexts();
/** A post of the list. */
const shown = (title: string, comments = 0) => `${title} (Ada, comments: ${comments})`;
/** Also where the page has noticed by itself that the session has ended, and shows no button. */
const publish = (page: Page) =>
  page
    .getByRole('button', { name: 'Publish', includeHidden: true })
    .evaluate((button: HTMLButtonElement) => button.form?.requestSubmit());
const signOut = (page: Page) => page.getByRole('button', { name: 'Sign out' }).click();

describe('docs/get-started/tutorial-web-page.md', () => {
  let web: WebPage;
  beforeAll(() => {
    web = createWebPage();
  });
  afterAll(() => web.remove());

  /** A browser that reaches the page and the API, under these host names and ports. */
  async function browse(origin: string, ...others: string[]) {
    const browser = await openBrowser(origin, { others });
    onTestFinished(() => browser.close());
    return async () => {
      const page = await browser.context.newPage();
      await page.goto(origin);
      return page;
    };
  }

  it('leads to a page that shows in two tabs what is published in one, and resumes', async () => {
    const [api = 0, port = 0] = await freePorts(2);
    const start = withPorts(blockOf('1. Start the service', 'sh'), api, port);
    const origins = /^CORS_ORIGINS=(\S+) npm start\n$/.exec(start)?.[1];
    expect(origins).toBe(`http://localhost:${port}`);
    const settings = { CORS_ORIGINS: origins ?? '', PORT: String(api) };
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir, settings);
    expect(blockOf('5. Open it', 'sh', /vite/)).toBe('npx vite --strictPort\n');
    await web.startVite(port, { VITE_API_URL: `http://localhost:${api}` });
    const open = await browse(`http://localhost:${port}`, `http://localhost:${api}`);

    const first = await open();
    await logIn(first, await demoPassword(dataDir));
    // A tab asks who is logged in when it is opened, and not again.
    await expect.poll(() => state(first)).toBe('Ada: live');
    const second = await open();
    for (const page of [first, second]) {
      await expect.poll(() => state(page)).toBe('Ada: live');
      await expect.poll(() => posts(page)).toContain(shown('On loops'));
    }
    await second.getByLabel('Title').fill('Written once');
    await second.getByLabel('Text').fill('Clicked twice.');
    await second.getByRole('button', { name: 'Publish' }).dblclick();
    for (const page of [first, second])
      await expect.poll(async () => (await posts(page))[0]).toBe(shown('Written once'));
    await expect.poll(() => second.getByLabel('Title').inputValue()).toBe('');

    server.kill('SIGKILL');
    await server.exited;
    for (const page of [first, second]) await expect.poll(() => state(page)).toBe('Ada: reconnecting');
    await second.getByLabel('Title').fill('Written meanwhile');
    await second.getByLabel('Text').fill('Sent once.');
    await publish(second);
    await expect.poll(() => problem(second)).toContain('The connection to the service failed.');
    const again = await startServer(dataDir, settings);
    await createPosts(again, await demoKey(dataDir), ['Missed', 'Missed too']);
    // Ends the pause before the next attempt, which grows to half a minute.
    for (const page of [first, second]) await page.evaluate(() => dispatchEvent(new Event('online')));
    for (const page of [first, second]) {
      await expect
        .poll(async () => (await posts(page)).slice(0, 4).toSorted())
        .toEqual(['Missed', 'Missed too', 'Written meanwhile', 'Written once'].map((title) => shown(title)));
      await expect.poll(() => problem(page)).toBe('');
    }
  });

  it('leads to a page that follows what others do, and leaves a session that ends anywhere', async () => {
    const port = await freePort();
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir, { CORS_ORIGINS: `http://localhost:${port}` });
    const [key, password] = [await demoKey(dataDir), await demoPassword(dataDir)];
    const api = `http://localhost:${new URL(server.origin).port}`;
    await web.startVite(port, { VITE_API_URL: api });
    const open = await browse(`http://localhost:${port}`, api);
    const page = await open();
    await logIn(page, 'a wrong password');
    await expect.poll(() => problem(page)).toBe('The email address or the password is wrong.');
    await logIn(page, password);
    await expect.poll(() => state(page)).toBe('Ada: live');
    expect(await problem(page)).toBe('');

    const gql = async (query: string, id: string) => {
      const { data, errors } = await server.gql(query, { key, variables: { id } });
      expect(errors).toBeUndefined();
      return data;
    };
    const { createPost } = await gql('mutation { createPost(title: "Draft", body: "b") { id } }', '');
    await expect.poll(async () => (await posts(page))[0]).toBe(shown('Draft'));
    await gql('mutation ($id: ID!) { updatePost(id: $id, title: "Edited") { id } }', createPost.id);
    await gql('mutation ($id: ID!) { createComment(postId: $id, body: "b") { id } }', createPost.id);
    await expect.poll(async () => (await posts(page))[0]).toBe(shown('Edited', 1));
    await gql('mutation ($id: ID!) { deletePost(id: $id) }', createPost.id);
    await expect.poll(async () => (await posts(page)).join()).not.toContain('Edited');

    /** Is at the form, which says why, and goes on with the text that was typed. */
    const comesBack = async () => {
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
      await expect.poll(() => problem(page)).toBe(ENDED);
      expect(await page.getByRole('button', { name: 'Publish' }).isVisible()).toBe(false);
      await logIn(page, password);
      await expect.poll(() => state(page)).toBe('Ada: live');
      expect(await problem(page)).toBe('');
      expect(await page.getByLabel('Title').inputValue()).toBe('Half a title');
    };
    await page.getByLabel('Title').fill('Half a title');
    // Logged out in another tab.
    const other = await open();
    await expect.poll(() => state(other)).toBe('Ada: live');
    await signOut(other);
    await other.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await problem(other)).toBe('');
    await other.close();
    await expect.poll(() => problem(page)).toBe(ENDED);
    await comesBack();
    // Revoked.
    const revoked = await admin(['session', 'revoke', '--user', 'ada@example.com'], dataDir);
    expect(revoked.code).toBe(0);
    await comesBack();
    // Expired: the browser does not send the cookie any more, and a mutation is the first to know.
    await page.context().clearCookies();
    await page.getByLabel('Text').fill('Half a text');
    await publish(page);
    await comesBack();

    await signOut(page);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await problem(page)).toBe('');
    await logIn(page, password, 'grace');
    await expect.poll(() => state(page)).toBe('Grace: live');
    expect(await page.getByLabel('Title').inputValue()).toBe('');
    // What she leaves behind is not for whoever comes next.
    await page.getByLabel('Title').fill('For Grace only');
    await page.context().clearCookies();
    await page.getByLabel('Text').fill('Text');
    await publish(page);
    await expect.poll(() => problem(page)).toBe(ENDED);
    await logIn(page, password);
    await expect.poll(() => state(page)).toBe('Ada: live');
    expect(await page.getByLabel('Title').inputValue()).toBe('');
  });

  it('leads to a page that the compiler checks against the schema', async () => {
    expect(web.compile()).not.toContain('error');
    const path = join(web.folder, 'src/main.ts');
    const main = await readFile(path, 'utf8');
    await writeFile(path, main.replace('post { id title', 'post { id titel'));
    const shown = blockOf('5. Open it', '', /Cannot query/).trim();
    expect(web.compile()).toContain(shown);
    await writeFile(path, main.replaceAll('title: field', 'titel: field'));
    expect(web.compile()).toContain('error TS');
    await writeFile(path, main);
    expect(web.compile()).not.toContain('error');
  });

  it('says what is seen where the origin is not allowed, and under two host names', async () => {
    const [port = 0, other = 0] = await freePorts(2);
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir, { CORS_ORIGINS: `http://localhost:${other}` });
    const api = Number(new URL(server.origin).port);

    const rejected = await web.startVite(port, { VITE_API_URL: `http://localhost:${api}` });
    const page = await (await browse(`http://localhost:${port}`, `http://localhost:${api}`))();
    await expect.poll(() => problem(page)).toContain('The connection to the service failed.');
    const logged = withPorts(blockOf('Find the cause', '', /CORS_ORIGINS/), api, port).trim();
    await expect.poll(() => server.stdout).toContain(logged);
    rejected.kill('SIGTERM');
    await rejected.exited;

    await web.startVite(other, { VITE_API_URL: `http://127.0.0.1:${api}` });
    const lost = await (await browse(`http://localhost:${other}`, `http://127.0.0.1:${api}`))();
    await lost.getByLabel('E-mail').waitFor();
    await logIn(lost, await demoPassword(dataDir));
    const warning = withPorts(blockOf('Sessions need the same site', '', /drops/), api, other).trim();
    await expect.poll(() => problem(lost)).toContain(warning);
  });

  it('needs no CORS_ORIGINS through the proxy of the dev server', async () => {
    const port = await freePort();
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir);
    const api = Number(new URL(server.origin).port);
    const section = 'Without CORS: a proxy';
    const configuration = withPorts(blockOf(section, 'ts'), api, port);
    const path = join(web.folder, 'vite.config.ts');
    await writeFile(path, configuration);
    web.run(blockOf(section, 'sh'));
    const vite = await web.startVite(port);
    const open = await browse(`http://localhost:${port}`);
    const page = await open();
    await logIn(page, await demoPassword(dataDir));
    await expect.poll(() => state(page)).toBe('Ada: live');
    await createPosts(server, await demoKey(dataDir), ['Through the proxy']);
    await expect.poll(async () => (await posts(page))[0]).toBe(shown('Through the proxy'));
    await signOut(page);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await logIn(page, await demoPassword(dataDir));
    await expect.poll(() => state(page)).toBe('Ada: live');
    vite.kill('SIGTERM');
    await vite.exited;

    // What the comment in the file warns of.
    await writeFile(path, configuration.replace('changeOrigin: false', 'changeOrigin: true'));
    await web.startVite(port);
    const foreign = await open();
    await foreign.getByLabel('Title').fill('Refused');
    await foreign.getByLabel('Text').fill('Refused.');
    await foreign.getByRole('button', { name: 'Publish' }).click();
    await expect.poll(() => problem(foreign)).toContain('CORS_ORIGINS');
  });

  it('is served over HTTP/2 beside the API, where tabs have streams of their own', async () => {
    const [port = 0, api = 0] = await freePorts(2);
    const origin = `https://localhost:${port}`;
    const settings = {
      ...productionSettings(),
      PUBLIC_URL: origin,
      TRUST_PROXY: '127.0.0.1',
      PORT: String(api),
    };
    const dataDir = await migratedFolder();
    await startServer(dataDir, settings);
    const account = ['--name', 'Ada', '--email', 'ada@example.com', '--password', PASSWORD];
    const created = runScript('src/admin/main.ts', ['user', 'create', ...account], { DATA_DIR: dataDir });
    expect(await created.exited).toMatchObject({ code: 0 });
    web.run(blockOf('Production', 'sh'));
    const folder = await migratedFolder();
    const root = join(folder, 'dist');
    await cp(join(web.folder, 'dist'), root, { recursive: true });
    await startNginx(nginxOf({ root, port, api }), { folder, port });

    const browser = await openBrowser(origin, { ignoreHTTPSErrors: true });
    onTestFinished(() => browser.close());
    const page = await browser.context.newPage();
    await page.goto(origin);
    await logIn(page, PASSWORD);
    await expect.poll(() => state(page)).toBe('Ada: live');
    await page.getByLabel('Title').fill('In production');
    await page.getByLabel('Text').fill('Over TLS.');
    await page.getByRole('button', { name: 'Publish' }).click();
    await expect.poll(() => posts(page)).toEqual([shown('In production')]);
    const opened = await page.evaluate(async () => {
      const [navigation] = performance.getEntriesByType('navigation');
      // More than the six connections of HTTP/1.1.
      const streams = Array.from(
        { length: 8 },
        () => new EventSource('/graphql?query=subscription{postCreated{id}}'),
      );
      await Promise.all(streams.map((stream) => new Promise((resolve) => (stream.onopen = resolve))));
      return { protocol: Reflect.get(navigation ?? {}, 'nextHopProtocol'), streams: streams.length };
    });
    expect(opened).toEqual({ protocol: 'h2', streams: 8 });
  });
});
