import { describe, expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { send, sendUntilResponse } from '../../../support/keyed.ts';
import { dataOf, expectBadInput } from '../../../support/rejection.ts';
import { subscribeToChanges } from '../../../support/streams/changes.ts';

const app = useApp();

/** With a payload that the statement shows, and with one that has to be read. */
const SHOWN = ['id slug', 'id slug author { id }'] as const;
const createWith = (shown: string) =>
  `mutation ($title: String!, $slug: String, $tags: [String!]) {
    createPost(title: $title, body: "B", slug: $slug, tags: $tags) { ${shown} } }`;
const UPDATE = `mutation ($id: ID!, $slug: String, $title: String, $tags: [String!], $ifVersion: Int) {
  updatePost(id: $id, slug: $slug, title: $title, tags: $tags, ifVersion: $ifVersion) { id slug title tags version } }`;

const slugOf = async (key: string, id: string) =>
  dataOf(await app.gql(`{ post(id: "${id}") { slug } }`, { key })).post.slug;

describe.each(SHOWN)('createPost { %s }', (shown) => {
  const label = shown === 'id slug' ? 'alone' : 'read';
  const create = (key: string, variables: object) => app.gql(createWith(shown), { key, variables });

  it('derives the slug from the title, and makes it unique', async () => {
    const { key } = await app.account();
    const slugs: string[] = [];
    for (let count = 0; count < 6; count += 1) {
      const { createPost } = dataOf(
        await create(key, { title: `Déjà vu, ${label}!`, tags: count % 2 === 0 ? [] : ['t'] }),
      );
      expect(await slugOf(key, createPost.id)).toBe(createPost.slug);
      slugs.push(createPost.slug);
    }
    const base = `deja-vu-${label}`;
    expect(slugs.slice(0, 4)).toEqual([base, `${base}-2`, `${base}-3`, `${base}-4`]);
    for (const slug of slugs.slice(4)) expect(slug).toMatch(new RegExp(`^${base}-[a-z0-9]{6}$`));
    expect(new Set(slugs).size).toBe(6);
  });

  it('gives 50 different slugs to 50 posts with one title at once', async () => {
    const { key } = await app.account();
    const title = `At once, ${label}`;
    const responses = await Promise.all(Array.from({ length: 50 }, () => create(key, { title })));
    const slugs = responses.map((response) => dataOf(response).createPost.slug);
    expect(new Set(slugs).size).toBe(50);
    expect(slugs).toContain(`at-once-${label}`);
    for (const slug of slugs) expect(slug).toMatch(new RegExp(`^at-once-${label}(-[234]|-[a-z0-9]{6})?$`));
  });

  it('takes the given slug', async () => {
    const { key } = await app.account();
    const slug = `given-${label}`;
    expect(dataOf(await create(key, { title: 'Another', slug })).createPost.slug).toBe(slug);
    expectBadInput(await create(key, { title: 'Another', slug }), 'slug', /given-\w+/);
    const long = `${'x'.repeat(75)}-${label.padEnd(4, 'x').slice(0, 4)}`;
    expect(dataOf(await create(key, { title: 'Another', slug: long })).createPost.slug).toBe(long);
  });

  it.each([
    '',
    '-',
    'a-',
    '-a',
    'A',
    'ä',
    'a b',
    'a_b',
    'a\n',
    '0192f0c1-0000-7000-8000-000000000000',
    `${'x'.repeat(81)}`,
  ])('rejects the slug %j', async (slug) => {
    const { key } = await app.account();
    expectBadInput(await create(key, { title: 'T', slug }), 'slug');
    const { createPost } = dataOf(await create(key, { title: 'T' }));
    expectBadInput(await app.gql(UPDATE, { key, variables: { id: createPost.id, slug } }), 'slug');
  });

  it('replays the slug of the first response', async () => {
    const { key } = await app.account();
    for (const idempotencyKey of ['first', 'second']) {
      const request = {
        query: createWith(shown),
        variables: { title: `Twice, ${label}` },
        key,
        idempotencyKey,
      };
      const first = await send(app, request);
      const again = await send(app, request);
      expect(again.replayed).toBe('true');
      expect(again.text).toBe(first.text);
      const { createPost } = JSON.parse(first.text).data;
      expect(await slugOf(key, createPost.id)).toBe(createPost.slug);
    }
  });

  it('writes one post for each key when all keys want one slug at once', async () => {
    const { key, id } = await app.account();
    const title = `Keyed, ${label}`;
    const requests = Array.from({ length: 20 }, (_, index) => ({
      query: createWith(shown),
      variables: { title },
      key,
      idempotencyKey: `key ${index % 10}`,
    }));
    const responses = await Promise.all(requests.map((request) => sendUntilResponse(app, request)));
    const slugs = responses.map(({ text }) => JSON.parse(text).data.createPost.slug);
    expect(new Set(slugs).size).toBe(10);
    expect(await app.prisma.post.count({ where: { authorId: id } })).toBe(10);
  });
});

describe('A slug', () => {
  it('is chosen by the statement that inserts the post if the response does not show it', async () => {
    const { key } = await app.account();
    const ids: string[] = [];
    for (let count = 0; count < 6; count += 1) {
      const { createPost } = dataOf(
        await app.gql(createWith('id'), { key, variables: { title: 'Unshown' } }),
      );
      ids.push(createPost.id);
    }
    const slugs = await Promise.all(ids.map((id) => slugOf(key, id)));
    expect(slugs.slice(0, 4)).toEqual(['unshown', 'unshown-2', 'unshown-3', 'unshown-4']);
    for (const slug of slugs.slice(4)) expect(slug).toMatch(/^unshown-[a-z0-9]{6}$/);
  });

  it('does not change with the title, and changes as a change of the post', async () => {
    const { key } = await app.account();
    const { createPost } = dataOf(await app.gql(createWith('id'), { key, variables: { title: 'Before' } }));
    const update = async (variables: object) =>
      dataOf(await app.gql(UPDATE, { key, variables: { id: createPost.id, ...variables } })).updatePost;
    const stream = await subscribeToChanges(app, { key, filter: { post: createPost.id } });
    expect(await update({ title: 'After' })).toMatchObject({ slug: 'before', version: 2 });
    expect(await update({ slug: 'after', ifVersion: 2 })).toMatchObject({
      slug: 'after',
      title: 'After',
      version: 3,
    });
    expect(await update({ slug: 'after' })).toMatchObject({ version: 3 });
    expect(await update({ slug: null })).toMatchObject({ slug: 'after', version: 3 });
    expect(await update({ slug: 'after-all', tags: ['t'] })).toMatchObject({
      slug: 'after-all',
      tags: ['t'],
      version: 4,
    });
    const kinds = (await stream.count(3)).map(({ told }) => told.kind);
    expect(kinds).toEqual(['POST_UPDATED', 'POST_UPDATED', 'POST_UPDATED']);
  });

  it('that another post has is rejected, and nothing is changed', async () => {
    const { key } = await app.account();
    const create = async (title: string) => {
      const { createPost } = dataOf(await app.gql(createWith('id'), { key, variables: { title } }));
      return createPost.id;
    };
    const [, id] = [await create('Taken here'), await create('Free here')];
    for (const tags of [undefined, ['t']]) {
      const variables = { id, slug: 'taken-here', title: 'Changed', tags };
      expectBadInput(await app.gql(UPDATE, { key, variables }), 'slug', /taken-here/);
    }
    const { post } = dataOf(await app.gql(`{ post(id: "${id}") { title slug version } }`, { key }));
    expect(post).toEqual({ title: 'Free here', slug: 'free-here', version: 1 });
  });

  it('goes to one of the posts that want it at once', async () => {
    const { key } = await app.account();
    const posts = await Promise.all(
      Array.from(
        { length: 8 },
        async () =>
          dataOf(await app.gql(createWith('id'), { key, variables: { title: 'Wanting' } })).createPost.id,
      ),
    );
    const responses = await Promise.all(
      posts.map((id) => app.gql(UPDATE, { key, variables: { id, slug: 'wanted-by-all' } })),
    );
    const [winners, losers] = [
      responses.filter(({ errors }) => !errors),
      responses.filter(({ errors }) => errors),
    ];
    expect(winners).toHaveLength(1);
    for (const loser of losers) expectBadInput(loser, 'slug');
  });

  it('is free again when a mutation that has taken it is rolled back', async () => {
    const { key } = await app.account();
    const both = `mutation { a: createPost(title: "A", body: "B", slug: "rolled-back") { id }
      b: createPost(title: "B", body: "B", slug: "rolled-back") { id } }`;
    expectBadInput(await app.gql(both, { key }), 'slug');
    const { createPost } = dataOf(
      await app.gql(createWith('slug'), { key, variables: { title: 'Rolled back' } }),
    );
    expect(createPost.slug).toBe('rolled-back');
  });
});
