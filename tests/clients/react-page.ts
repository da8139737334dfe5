import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { freePort } from '../../scripts/cluster/processes.ts';
import { blocksOf, pathOf } from '../support/docs/markdown.ts';
import { openBrowser } from '../support/processes/browser.ts';
import { ROOT, runProgram } from '../support/processes/process.ts';
import type { LiveService } from './live-service.ts';

const blocks = blocksOf(readFileSync(join(ROOT, 'docs/clients/tanstack.md'), 'utf8'));
const PACKAGES = join(ROOT, 'examples/clients/node_modules');

/** The project that a reader of docs/clients/tanstack.md has, with the packages of `examples/clients`. */
export interface ReactProject {
  /** Runs a line in it. Throws, with the output, if it fails. */
  run(line: string): void;
  /** Serves what `vite build` has put into a folder, in front of a service. Resolves to the origin. */
  serve(service: LiveService, output?: string): Promise<string>;
  /** Makes another page of it, which begins with this script. */
  build(script: string, output: string, config?: string): Promise<void>;
  remove(): Promise<void>;
}

/** Beyond a test, as `beforeAll` is, no process of `runShell` may run. Throws with the output. */
function runIn(folder: string, line: string): void {
  const { PATH, HOME } = process.env;
  const env = { PATH: `${folder}/node_modules/.bin:${PATH}`, HOME };
  try {
    execFileSync('/bin/sh', ['-ec', line], { cwd: folder, env, encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    const output = error instanceof Error && 'stdout' in error ? `${error.stdout}` : '';
    throw new Error(`${line}\n${output}`, { cause: error });
  }
}

/** Follows the steps of docs/clients/tanstack.md up to "Open it". */
export async function createReactProject(): Promise<ReactProject> {
  const home = await mkdtemp(join(tmpdir(), 'content-graph-react-'));
  const project = join(home, 'content-graph-api');
  const folder = join(home, 'my-react-page');
  await mkdir(project);
  await cp(join(ROOT, 'schema.graphql'), join(project, 'schema.graphql'));
  const examples = { recursive: true, filter: (path: string) => !/node_modules|examples\/web/.test(path) };
  await cp(join(ROOT, 'examples'), join(project, 'examples'), examples);
  for (const block of blocks.filter(({ section }) => section === '2. Create the project')) {
    if (block.text.startsWith('API=')) runIn(project, block.text);
    // The packages of the examples include the client, which another test packs.
    else if (block.text.startsWith('npm install')) await symlink(PACKAGES, join(folder, 'node_modules'));
    else if (block.language === 'sh') runIn(folder, block.text);
    else await writeFile(join(folder, pathOf(block) ?? ''), block.text);
  }
  return {
    run: (line) => runIn(folder, line),
    async serve(service, output = 'dist') {
      const config = join(folder, 'vite.config.ts');
      const text = await readFile(config, 'utf8');
      await writeFile(config, text.replace(/http:\/\/[\w.]+:\d+/, service.origin));
      const port = await freePort();
      const vite = `exec ${PACKAGES}/.bin/vite preview --port ${port} --strictPort --outDir ${output}`;
      const preview = runProgram(['/bin/sh', '-c', `cd ${folder} && ${vite}`], {});
      await preview.printed(/Local:/);
      return `http://localhost:${port}`;
    },
    async build(script, output, config = 'vite.config.ts') {
      const html = join(folder, 'index.html');
      const text = await readFile(html, 'utf8');
      await writeFile(html, text.replace('/src/clients/tanstack/main.tsx', script));
      runIn(folder, `vite build --logLevel error --config ${config} --outDir ${output}`);
      await writeFile(html, text);
    },
    remove: () => rm(home, { recursive: true, maxRetries: 5 }),
  };
}

export const COMMENT =
  'mutation ($id: ID!, $body: String!) { createComment(postId: $id, body: $body) { id } }';

/** Signs in as another page of the same origin does: this one is not told. */
export function signIn(page: Page, password: string, email = 'ada@example.com'): Promise<void> {
  return page.evaluate(async (body) => {
    await fetch('/login', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  }, JSON.stringify({ email, password }));
}

/** Opens a page of live posts, which has twenty of them and those of the demo. Signs in as Ada. */
export async function openLivePosts(service: LiveService, origin: string): Promise<Page> {
  const browser = await openBrowser(origin);
  onTestFinished(() => browser.close());
  const page = await browser.context.newPage();
  await page.goto(origin);
  await signIn(page, service.password);
  await page.reload();
  return page;
}

/** Expects that a page of live posts shows each change, publishes once, and resumes where the service restarts. */
export async function checkLivePosts(
  service: LiveService,
  origin: string,
  restart: (page: Page) => Promise<void>,
): Promise<void> {
  const titles = Array.from({ length: 20 }, (_, number) => `post ${number + 1}`);
  await service.create(...titles);
  const page = await openLivePosts(service, origin);
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
  await restart(page);
  await page.evaluate(() => dispatchEvent(new Event('online')));
  await expect.poll(async () => (await items())[0]).toBe('Missed (0)');
}

/** A tab with the page. */
export interface Tab {
  readonly page: Page;
  /** The operations that it has sent, streams apart. */
  readonly asked: string[];
  titles(): Promise<string[]>;
  /** The post with this title. */
  post(title: string): ReturnType<Page['getByRole']>;
  status(): Promise<string>;
}

/** A browser in front of the page, signed in as Ada in its first tab. Opens further tabs. */
export async function openTabs(service: LiveService, origin: string, email = 'ada@example.com') {
  const browser = await openBrowser(origin);
  onTestFinished(() => browser.close());
  let isSignedIn = false;
  return async (): Promise<Tab> => {
    const page = await browser.context.newPage();
    const asked: string[] = [];
    page.on('request', (request) => {
      const operation = /(?:query|mutation) (\w+)/.exec(request.postData() ?? '')?.[1];
      if (operation !== undefined) asked.push(operation);
    });
    await page.goto(origin);
    if (!isSignedIn) {
      await page.getByLabel('E-mail').fill(email);
      await page.getByLabel('Password').fill(service.password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('status').waitFor();
    }
    isSignedIn = true;
    return {
      page,
      asked,
      titles: () => page.getByRole('article').getByRole('heading').allInnerTexts(),
      post: (title) => page.getByRole('article', { name: title, exact: true }),
      status: () => page.getByRole('status').innerText(),
    };
  };
}
