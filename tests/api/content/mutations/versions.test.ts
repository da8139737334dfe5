import { describe, expect, it } from 'vitest';
import { newId } from '../../../../src/platform/ids.ts';
import { type Account, useApp } from '../../../support/app.ts';
import { createComment, createPost, past, seedComments, seedPosts } from '../../../support/content.ts';
import { dataOf, expectForbidden, expectRejected } from '../../../support/rejection.ts';

const app = useApp();

interface Kind {
  readonly kind: string;
  /** Makes one, and gives its id. */
  readonly make: (author: Account) => Promise<string>;
  /** Makes one of the past. */
  readonly old: (author: Account) => Promise<string>;
  readonly read: string;
  readonly update: string;
  readonly delete: string;
  readonly gone: unknown;
}

const KINDS: readonly Kind[] = [
  {
    kind: 'post',
    make: (author) => createPost(app, author.key),
    old: async (author) => (await seedPosts(app, [{ authorId: author.id, createdAt: past() }]))[0] ?? '',
    read: 'query ($id: ID!) { found: node(id: $id) { ... on Post { text: body version createdAt updatedAt } } }',
    update:
      'mutation ($id: ID!, $text: String!, $v: Int) { it: updatePost(id: $id, body: $text, ifVersion: $v) { text: body version createdAt updatedAt } }',
    delete: 'mutation ($id: ID!, $v: Int) { it: deletePost(id: $id, ifVersion: $v) }',
    gone: null,
  },
  {
    kind: 'comment',
    make: async (author) => createComment(app, author.key, await createPost(app, author.key)),
    async old(author) {
      const [comment] = await seedComments(app, [
        { postId: await createPost(app, author.key), authorId: author.id, createdAt: past() },
      ]);
      return comment ?? '';
    },
    read: 'query ($id: ID!) { found: node(id: $id) { ... on Comment { text: body version createdAt updatedAt } } }',
    update:
      'mutation ($id: ID!, $text: String!, $v: Int) { it: updateComment(id: $id, body: $text, ifVersion: $v) { text: body version createdAt updatedAt } }',
    delete: 'mutation ($id: ID!, $v: Int) { it: deleteComment(id: $id, ifVersion: $v) }',
    gone: null,
  },
];

describe.each(KINDS)('The version of a $kind', ({ make, old, ...kind }) => {
  const read = async ({ key }: Account, id: string) =>
    dataOf(await app.gql(kind.read, { key, variables: { id } })).found;
  const update = ({ key }: Account, id: string, text: string, v?: number | null) =>
    app.gql(kind.update, { key, variables: { id, text, ...(v === undefined ? {} : { v }) } });
  const remove = ({ key }: Account, id: string, v?: number | null) =>
    app.gql(kind.delete, { key, variables: { id, v } });

  it('is 1 and dated like it until it is changed', async () => {
    const author = await app.account();
    for (const id of [await make(author), await old(author)]) {
      const found = await read(author, id);
      expect(found.version).toBe(1);
      expect(found.updatedAt).toBe(found.createdAt);
    }
  });

  it('grows by 1 with each change, and the instant with it', async () => {
    const author = await app.account();
    const id = await old(author);
    let before = await read(author, id);
    for (const [at, text] of ['a', 'b', 'a'].entries()) {
      const { it: changed } = dataOf(await update(author, id, text));
      expect(changed).toMatchObject({ text, version: at + 2, createdAt: before.createdAt });
      expect(Date.parse(changed.updatedAt)).toBeGreaterThanOrEqual(Date.parse(before.updatedAt));
      expect(Date.parse(changed.updatedAt)).toBeGreaterThan(Date.parse(changed.createdAt));
      expect(await read(author, id)).toEqual(changed);
      before = changed;
    }
  });

  it('stays where an update makes nothing different', async () => {
    const author = await app.account();
    const id = await make(author);
    dataOf(await update(author, id, 'a'));
    const before = await read(author, id);
    expect(dataOf(await update(author, id, 'a')).it).toEqual(before);
    expect(dataOf(await update(author, id, 'a', 2)).it).toEqual(before);
    expect(await read(author, id)).toEqual(before);
  });

  it('is compared with `ifVersion`: nothing of another version is changed or deleted', async () => {
    const author = await app.account();
    const id = await make(author);
    dataOf(await update(author, id, 'a', 1));
    const before = await read(author, id);
    for (const v of [0, 1, 3, -1, 2_147_483_647])
      for (const response of [
        await update(author, id, 'b', v),
        await update(author, id, 'a', v),
        await remove(author, id, v),
      ]) {
        expectRejected(response, { code: 'CONFLICT', message: /version 2/ });
        expect(response.errors?.[0]?.extensions).toEqual({ code: 'CONFLICT', version: 2 });
        expect(response.data).toBeNull();
      }
    expect(await read(author, id)).toEqual(before);
    expect(dataOf(await update(author, id, 'b', 2)).it.version).toBe(3);
    expect(dataOf(await update(author, id, 'c', null)).it.version).toBe(4);
    expect(dataOf(await remove(author, id, 4)).it).toBe(true);
    expect(await read(author, id)).toEqual(kind.gone);
  });

  it('is not looked at where there is nothing, or where it is not permitted', async () => {
    const [author, other] = [await app.account(), await app.account()];
    for (const id of [newId(), 'no-uuid']) {
      expectRejected(await update(author, id, 'a', 7), { code: 'NOT_FOUND' });
      expect(dataOf(await remove(author, id, 7)).it).toBe(false);
    }
    const id = await make(author);
    expectForbidden(await update(other, id, 'a', 7));
    expectForbidden(await remove(other, id, 7));
  });

  it('lets one of those who change it at once through', async () => {
    const author = await app.account();
    const id = await make(author);
    const texts = ['a', 'b', 'c', 'd', 'e'];
    const responses = await Promise.all(texts.map((text) => update(author, id, text, 1)));
    const [made, ...others] = responses.filter(({ data }) => data !== null);
    expect(others).toEqual([]);
    for (const response of responses.filter((one) => one !== made))
      expectRejected(response, { code: 'CONFLICT', message: /version 2/ });
    expect(await read(author, id)).toEqual(made?.data.it);
  });

  it('is part of the response that is stored under a key: a new attempt needs a new key', async () => {
    const author = await app.account();
    const id = await make(author);
    const attempt = (name: string, v: number) =>
      app.gql(kind.update, {
        key: author.key,
        variables: { id, text: 'b', v },
        headers: { 'idempotency-key': `${id}-${name}` },
      });
    expectRejected(await attempt('one', 2), { code: 'CONFLICT' });
    dataOf(await update(author, id, 'a'));
    const replayed = await attempt('one', 2);
    expectRejected(replayed, { code: 'CONFLICT', message: /version 1/ });
    expect(replayed.headers.get('idempotency-replayed')).toBe('true');
    expect(dataOf(await attempt('two', 2)).it).toMatchObject({ text: 'b', version: 3 });
    expect(dataOf(await attempt('two', 2)).it).toMatchObject({ text: 'b', version: 3 });
  });
});

describe('The version of a post', () => {
  const UPDATE =
    'mutation ($id: ID!, $title: String, $tags: [String!], $v: Int) { updatePost(id: $id, title: $title, tags: $tags, ifVersion: $v) { title tags version } }';

  it('grows with its tags and their order, and with nothing else', async () => {
    const author = await app.account();
    const id = await createPost(app, author.key, { title: 'T', tags: ['a', 'b'] });
    const change = async (variables: Record<string, unknown>) =>
      dataOf(await app.gql(UPDATE, { key: author.key, variables: { id, ...variables } })).updatePost.version;
    expect(await change({ tags: ['a', 'b'] })).toBe(1);
    expect(await change({ tags: ['b', 'a'] })).toBe(2);
    expect(await change({ tags: ['b'] })).toBe(3);
    expect(await change({ tags: ['b'], title: 'T' })).toBe(3);
    expect(await change({ tags: [] })).toBe(4);
    expect(await change({ tags: [] })).toBe(4);
    expect(await change({ tags: ['c'], title: 'U' })).toBe(5);
    const commentId = await createComment(app, author.key, id);
    dataOf(await app.gql(`mutation { deleteComment(id: "${commentId}") }`, { key: author.key }));
    expect(await change({})).toBe(5);
  });

  it('counts each change of one operation', async () => {
    const author = await app.account();
    const id = await createPost(app, author.key, { title: 'T' });
    const both = (one: number, two: number) =>
      app.gql(
        `mutation { a: updatePost(id: "${id}", title: "A", ifVersion: ${one}) { version } b: updatePost(id: "${id}", title: "B", ifVersion: ${two}) { version } }`,
        { key: author.key },
      );
    const rejected = await both(1, 1);
    expectRejected(rejected, { code: 'CONFLICT', message: /version 2/ });
    expect(rejected.errors?.[0]?.path).toEqual(['b']);
    // All was rolled back.
    expect(dataOf(await both(1, 2))).toEqual({ a: { version: 2 }, b: { version: 3 } });
  });
});
