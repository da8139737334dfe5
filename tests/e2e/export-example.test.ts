import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { type Process, runScript, startLoop, temporaryFolder, until } from '../support/processes/process.ts';
import { admin, demoKey, type ServerProcess, startServer } from '../support/processes/server.ts';

const POSTS = 130;
const PAGE = `query ($after: String) { postsConnection(first: 30, after: $after) {
  nodes { id title body tags createdAt updatedAt version author { id name }
    comments(limit: 10) { id body createdAt updatedAt version author { id name } } }
  pageInfo { hasNextPage endCursor } } }`;

interface Item {
  readonly id: string;
  readonly postId?: string;
}

interface Line {
  readonly post?: Item;
  readonly comment?: Item;
  readonly deleted?: string;
  readonly again?: true;
  readonly at?: object;
}

/** What a reader of the file knows: the last of each id. */
function foldedOf(text: string): Map<string, Item> {
  const known = new Map<string, Item>();
  const lines = text
    .split('\n')
    .slice(0, -1)
    .map((line): Line => JSON.parse(line));
  for (const { post, comment, deleted, again } of lines) {
    if (again === true) known.clear();
    const item = post ?? comment;
    if (item !== undefined) known.set(item.id, item);
    if (deleted === undefined) continue;
    for (const [id, { postId }] of known) if (id === deleted || postId === deleted) known.delete(id);
  }
  return known;
}

async function stored(server: ServerProcess, key: string): Promise<Map<string, Item>> {
  type Post = Item & { readonly comments: readonly Item[] };
  type Page = { nodes: readonly Post[]; pageInfo: { hasNextPage: boolean; endCursor: string } };
  const known = new Map<string, Item>();
  for (let after: string | null = null; ; ) {
    const { data } = await server.gql(PAGE, { key, variables: { after } });
    const { nodes, pageInfo } = (data as { postsConnection: Page }).postsConnection;
    for (const { comments, ...post } of nodes) {
      known.set(post.id, post);
      for (const comment of comments) known.set(comment.id, { ...comment, postId: post.id });
    }
    if (!pageInfo.hasNextPage) return known;
    after = pageInfo.endCursor;
  }
}

/** Writes, changes and deletes until it is stopped. */
function startWriting(server: ServerProcess, key: string) {
  const run = async (text: string, variables = {}) => {
    const { data, errors } = await server.gql(text, { key, variables });
    expect(errors).toBeUndefined();
    return data as Record<string, { id: string }>;
  };
  const create = async (title: string) =>
    (await run('mutation ($title: String!) { createPost(title: $title, body: "ä") { id } }', { title }))
      .createPost?.id ?? '';
  let index = 0;
  const { stop } = startLoop(async () => {
    const id = await create(`written ${index}`);
    const comment = 'mutation ($id: ID!) { createComment(postId: $id, body: "c") { id } }';
    const commentId = (await run(comment, { id })).createComment?.id;
    await run('mutation ($id: ID!) { updatePost(id: $id, tags: ["t"]) { id } }', { id });
    if (index % 3 === 0) await run('mutation ($id: ID!) { deletePost(id: $id) }', { id });
    if (index % 3 === 1) await run('mutation ($id: ID!) { deleteComment(id: $id) }', { id: commentId });
    index += 1;
  });
  return { create, stop };
}

describe('examples/export.ts', () => {
  it('has every line, and none of them half, however often it is killed', async () => {
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir, { RATE_LIMIT_BURST: '100000', LOG_LEVEL: 'warn' });
    const key = await demoKey(dataDir);
    const path = join(await temporaryFolder(), 'posts.ndjson');
    const text = () => readFile(path, 'utf8').catch(() => '');
    const start = (): Process =>
      runScript('examples/export.ts', [`${server.origin}/graphql`, path], { API_KEY: key });
    const kill = async (process: Process) => {
      process.kill('SIGKILL');
      expect((await process.exited).signal).toBe('SIGKILL');
    };
    const many = `mutation { ${Array.from({ length: 10 }, (_, index) => `p${index}: createPost(title: "p", body: "b") { id }`).join(' ')} }`;
    for (let made = 0; made < POSTS; made += 10)
      expect((await server.gql(many, { key })).errors).toBeUndefined();

    const writing = startWriting(server, key);
    // While it reads the pages, and while it follows, each time after a few bytes more.
    for (const grownBy of [1, 5_000, 1, 20_000, 1, 300, 2_000, 300]) {
      const { length } = await text();
      const exporting = start();
      await until('more lines', async () => (await text()).length > length + grownBy);
      await kill(exporting);
    }
    await writing.stop();

    const last = start();
    await writing.create('the end');
    await until('the last post', async () => (await text()).includes('the end'));
    const whole = await text();
    expect(Object.fromEntries(foldedOf(whole))).toEqual(Object.fromEntries(await stored(server, key)));
    expect(whole).not.toContain('"again"');

    // The changes are gone: it reads all of it again, also what nobody told of.
    await kill(last);
    await admin(['event-log', 'reset'], dataDir);
    start();
    await until('all of it again', async () => /"again".*"isRead":true/s.test(await text()));
    expect(Object.fromEntries(foldedOf(await text()))).toEqual(Object.fromEntries(await stored(server, key)));
  });
});
