import { describe, expect, it } from 'vitest';
import { newId } from '../../../../src/platform/ids.ts';
import { CONTENT_LIMITS } from '../../../../src/schema/content-limits.ts';
import { adminCommand } from '../../../support/admin-command.ts';
import { type Account, useApp } from '../../../support/app.ts';
import { createPost } from '../../../support/content.ts';
import { dataOf, expectBadInput, expectForbidden, expectRejected } from '../../../support/rejection.ts';

const app = useApp();

const FIELDS = 'id title body tags slug version createdAt updatedAt';
const GIVEN = '$title: String, $body: String, $tags: [String!], $slug: String';
const PASSED = 'title: $title, body: $body, tags: $tags, slug: $slug';
const CREATE = `mutation (${GIVEN}) { createDraft(${PASSED}) { ${FIELDS} } }`;
const UPDATE = `mutation ($id: ID!, $v: Int, ${GIVEN}) { updateDraft(id: $id, ifVersion: $v, ${PASSED}) { ${FIELDS} } }`;
const DELETE = 'mutation ($id: ID!, $v: Int) { deleteDraft(id: $id, ifVersion: $v) }';
const PUBLISH =
  'mutation ($id: ID!, $v: Int) { publishDraft(id: $id, ifVersion: $v) { id title body tags slug version author { id } } }';

type Variables = Readonly<Record<string, unknown>>;

const create = ({ key }: Pick<Account, 'key'>, variables: Variables = {}) =>
  app.gql(CREATE, { key, variables });
const created = async (who: Pick<Account, 'key'>, variables: Variables = {}) =>
  dataOf(await create(who, variables)).createDraft;
const change = ({ key }: Pick<Account, 'key'>, id: string, variables: Variables) =>
  app.gql(UPDATE, { key, variables: { id, ...variables } });
const remove = ({ key }: Pick<Account, 'key'>, id: string, v?: number) =>
  app.gql(DELETE, { key, variables: { id, v } });
const publish = ({ key }: Pick<Account, 'key'>, id: string, v?: number) =>
  app.gql(PUBLISH, { key, variables: { id, v } });
const own = async ({ key }: Account) =>
  dataOf(await app.gql(`{ viewer { drafts(limit: 100) { ${FIELDS} } } }`, { key })).viewer.drafts;

const FULL = { title: 'Über uns', body: '👩‍🚀\n', tags: ['b', 'a'], slug: 'about-us' };

describe('Mutation.createDraft', () => {
  it('stores what is given, also nothing at all', async () => {
    const me = await app.account();
    expect(await created(me)).toMatchObject({ title: '', body: '', tags: [], slug: null, version: 1 });
    expect(await created(me, { title: '', body: '' })).toMatchObject({ title: '', body: '' });
    const draft = await created(me, FULL);
    expect(draft).toMatchObject({ ...FULL, version: 1 });
    expect(draft.updatedAt).toBe(draft.createdAt);
    expect(await own(me)).toContainEqual(draft);
  });

  it.each([
    ['title', 'x'.repeat(201)],
    ['title', 'a\0'],
    ['body', 'x'.repeat(50_001)],
    ['tags', ['a', 'a']],
    ['tags', ['']],
    ['tags', Array.from({ length: 11 }, (_, at) => `t${at}`)],
    ['slug', 'No slug'],
  ])('rejects a wrong %s', async (argument, value) => {
    expectBadInput(await create(await app.account(), { [argument]: value }), argument);
  });

  it('stops at 200 drafts of an account, also for drafts that are created together', async () => {
    const { maxPerAccount } = CONTENT_LIMITS.draft;
    const me = await app.account();
    const data = Array.from({ length: maxPerAccount - 2 }, () => ({
      authorId: me.id,
      title: '',
      body: '',
      tags: [],
    }));
    await app.prisma.draft.createMany({ data });
    const responses = await Promise.all(Array.from({ length: 6 }, () => create(me)));
    const rejected = responses.filter(({ errors }) => errors !== undefined);
    expect(rejected).toHaveLength(4);
    for (const response of rejected)
      expectRejected(response, { code: 'BAD_USER_INPUT', message: /at most 200 drafts/ });
    const [draft] = await own(me);
    dataOf(await remove(me, draft.id));
    await created(me);
    expectRejected(await create(me), { code: 'BAD_USER_INPUT', message: /at most 200 drafts/ });
    await created(await app.account());
  });
});

describe('Mutation.updateDraft', () => {
  it('changes what is given; the rest, and what is null, stays', async () => {
    const me = await app.account();
    const draft = await created(me, FULL);
    const next = dataOf(await change(me, draft.id, { title: '', tags: null })).updateDraft;
    expect(next).toEqual({ ...draft, title: '', version: 2, updatedAt: expect.any(String) });
    expect(Date.parse(next.updatedAt)).toBeGreaterThan(Date.parse(draft.updatedAt));
    const last = dataOf(await change(me, draft.id, { body: 'b', tags: ['a'], slug: '' })).updateDraft;
    expect(last).toMatchObject({ title: '', body: 'b', tags: ['a'], slug: null, version: 3 });
    expect(await own(me)).toEqual([last]);
  });

  it('changes nothing by equal values', async () => {
    const me = await app.account();
    const draft = await created(me, FULL);
    expect(dataOf(await change(me, draft.id, FULL)).updateDraft).toEqual(draft);
    expect(dataOf(await change(me, draft.id, {})).updateDraft).toEqual(draft);
  });

  it('fails with CONFLICT for another version, and with NOT_FOUND for what is no draft of the caller', async () => {
    const [me, other] = [await app.account(), await app.account({ role: 'admin' })];
    const draft = await created(me, FULL);
    const conflict = await change(me, draft.id, { title: 't', v: 2 });
    expectRejected(conflict, { code: 'CONFLICT' });
    expect(conflict.errors?.[0]?.extensions.version).toBe(1);
    for (const [who, id] of [
      [other, draft.id],
      [me, newId()],
      [me, 'no-uuid'],
      [me, await createPost(app, me.key)],
    ] as const)
      expectRejected(await change(who, id, { title: 't', v: 2 }), { code: 'NOT_FOUND' });
    expect(await own(me)).toEqual([draft]);
  });
});

describe('Mutation.deleteDraft', () => {
  it('is true for a draft of the caller, and false for anything else', async () => {
    const [me, admin] = [await app.account(), await app.account({ role: 'admin' })];
    const draft = await created(me);
    for (const [who, id] of [
      [admin, draft.id],
      [me, newId()],
      [me, 'no-uuid'],
    ] as const)
      expect(dataOf(await remove(who, id, 5)).deleteDraft).toBe(false);
    expectRejected(await remove(me, draft.id, 2), { code: 'CONFLICT' });
    expect(dataOf(await remove(me, draft.id, 1)).deleteDraft).toBe(true);
    expect(dataOf(await remove(me, draft.id)).deleteDraft).toBe(false);
    expect(await own(me)).toEqual([]);
  });
});

describe('Mutation.publishDraft', () => {
  it('makes a post of the draft, with its event, in place of the draft', async () => {
    const me = await app.account();
    const slug = `slug-${me.id}`;
    const draft = await created(me, { ...FULL, slug });
    const { id, ...post } = dataOf(await publish(me, draft.id, 1)).publishDraft;
    expect(post).toEqual({ ...FULL, slug, version: 1, author: { id: me.id } });
    expect(await own(me)).toEqual([]);
    expectRejected(await publish(me, draft.id), { code: 'NOT_FOUND' });
    const where = { rootId: id };
    expect((await app.prisma.event.findMany({ where })).map(({ kind }) => kind)).toEqual(['POST_CREATED']);
  });

  it('derives the slug from the title if the draft has none', async () => {
    const me = await app.account();
    const draft = await created(me, { title: `Title ${me.id}`, body: 'b' });
    expect(dataOf(await publish(me, draft.id)).publishDraft.slug).toBe(`title-${me.id}`);
  });

  it('has the rules of createPost, and leaves the draft as it is where they are broken', async () => {
    const me = await app.account();
    const taken = `taken-${me.id}`;
    dataOf(
      await app.gql(`mutation { createPost(title: "t", body: "b", slug: "${taken}") { id } }`, {
        key: me.key,
      }),
    );
    for (const [fields, argument] of [
      [{ body: 'b' }, 'title'],
      [{ title: '\u200b', body: 'b' }, 'title'],
      [{ title: 't' }, 'body'],
      [{ title: 't', body: 'b', slug: taken }, 'slug'],
    ] as const) {
      const draft = await created(me, fields);
      expectBadInput(await publish(me, draft.id), argument);
      expect(await own(me)).toContainEqual(draft);
    }
    expect(dataOf(await app.gql('{ viewer { posts { title } } }', { key: me.key })).viewer.posts).toEqual([
      { title: 't' },
    ]);
  });

  it('fails with CONFLICT for another version, and with NOT_FOUND for what is no draft of the caller', async () => {
    const [me, admin] = [await app.account(), await app.account({ role: 'admin' })];
    const draft = await created(me, { title: 't', body: 'b' });
    expectRejected(await publish(me, draft.id, 2), { code: 'CONFLICT' });
    expectRejected(await publish(admin, draft.id, 2), { code: 'NOT_FOUND' });
    expectRejected(await publish(me, 'no-uuid'), { code: 'NOT_FOUND' });
    expect(await own(me)).toEqual([draft]);
  });

  it('makes one post of two requests at the same time', async () => {
    const me = await app.account();
    const draft = await created(me, { title: 't', body: 'b' });
    const responses = await Promise.all([
      publish(me, draft.id),
      publish(me, draft.id),
      publish(me, draft.id),
    ]);
    const failed = responses.filter(({ errors }) => errors !== undefined);
    expect(failed).toHaveLength(2);
    for (const response of failed) expectRejected(response, { code: 'NOT_FOUND' });
    expect(await app.prisma.post.count({ where: { authorId: me.id } })).toBe(1);
  });

  it('is undone with the rest of its operation', async () => {
    const me = await app.account();
    const draft = await created(me, { title: 't', body: 'b' });
    const both = `mutation { publishDraft(id: "${draft.id}") { id } updateDraft(id: "${draft.id}") { id } }`;
    expectRejected(await app.gql(both, { key: me.key }), { code: 'NOT_FOUND' });
    expect(await own(me)).toEqual([draft]);
    expect(await app.prisma.post.count({ where: { authorId: me.id } })).toBe(0);
  });
});

describe('The scopes of drafts', () => {
  it.each([
    ['createDraft', ['drafts:read', 'posts:write'], 'mutation { createDraft { id } }'],
    ['updateDraft', ['drafts:read', 'posts:write'], `mutation { updateDraft(id: "${newId()}") { id } }`],
    ['deleteDraft', ['drafts:read', 'posts:write'], `mutation { deleteDraft(id: "${newId()}") }`],
    ['publishDraft', ['drafts:write'], `mutation { publishDraft(id: "${newId()}") { id } }`],
    ['publishDraft', ['posts:write'], `mutation { publishDraft(id: "${newId()}") { id } }`],
  ] as const)('%s is FORBIDDEN with %s alone', async (_field, scopes, query) => {
    const { key } = await app.account({ scopes: [...scopes] });
    expectForbidden(await app.gql(query, { key }));
  });
});

describe('The drafts of an account', () => {
  it('are in its export, and deleted with it, also where its posts are kept', async () => {
    const me = await app.account();
    const { createdAt, updatedAt, ...draft } = await created(me, FULL);
    const exported = await adminCommand(app, ['user', 'export', me.email]);
    expect(exported.json.drafts).toEqual([{ ...draft, createdAt, updatedAt }]);
    await adminCommand(app, ['user', 'delete', me.email, '--content', 'keep']);
    expect(await app.prisma.draft.count({ where: { authorId: me.id } })).toBe(0);
    const other = await app.account();
    await created(other, FULL);
    await adminCommand(app, ['user', 'delete', other.email, '--content', 'delete']);
    expect(await app.prisma.draft.count({ where: { authorId: other.id } })).toBe(0);
  });

  it('are no events', async () => {
    const me = await app.account();
    const count = () => app.prisma.event.count();
    const before = await count();
    const draft = await created(me, FULL);
    dataOf(await change(me, draft.id, { title: 'x' }));
    dataOf(await remove(me, draft.id));
    expect(await count()).toBe(before);
  });
});
