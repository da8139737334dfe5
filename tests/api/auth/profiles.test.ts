import { describe, expect, it } from 'vitest';
import { adminCommand } from '../../support/admin-command.ts';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { gqlAs, type Visitor, visitor } from '../../support/credentials/session.ts';
import { useCountedDatabase } from '../../support/database/statement-count.ts';
import { dataOf, expectBadInput, expectRejected } from '../../support/rejection.ts';
import { clockOf } from '../../support/time/stepped-clock.ts';

const PROFILE = 'handle bio avatarUrl';
const UPDATE = `mutation ($name: String, $handle: String, $bio: String, $avatarUrl: String) {
  updateViewer(name: $name, handle: $handle, bio: $bio, avatarUrl: $avatarUrl) { name ${PROFILE} } }`;
const BY_HANDLE = 'query ($handle: String!) { userByHandle(handle: $handle) { id name } }';

const app = useApp();

const update = ({ cookie }: Visitor, changes: Readonly<Record<string, string | null>>) =>
  gqlAs(app, cookie, UPDATE, { variables: changes });
const updated = async (who: Visitor, changes: Readonly<Record<string, string | null>>) =>
  dataOf(await update(who, changes)).updateViewer;
const find = async (key: string, handle: string) =>
  dataOf(await app.gql(BY_HANDLE, { key, variables: { handle } })).userByHandle;

let made = 0;
/** A handle that no other test uses. */
const freshHandle = () => {
  made += 1;
  return `handle_${made}`;
};

describe('A profile', () => {
  it('begins without handle, text and picture', async () => {
    const me = await visitor(app);
    expect(dataOf(await gqlAs(app, me.cookie, `{ viewer { ${PROFILE} } }`)).viewer).toEqual({
      handle: null,
      bio: '',
      avatarUrl: null,
    });
  });

  it('changes by what is given; the rest, and what is null, stays', async () => {
    const me = await visitor(app, { name: 'Ada' });
    const handle = freshHandle();
    const avatarUrl = 'https://example.com/ada.png?size=64#top';
    const full = { name: 'Ada', handle, bio: ' Über\n👩‍🚀 ', avatarUrl };
    expect(await updated(me, { handle, bio: full.bio, avatarUrl })).toEqual(full);
    expect(await updated(me, { name: 'Grace', handle: null, bio: null, avatarUrl: null })).toEqual({
      ...full,
      name: 'Grace',
    });
    expect(await updated(me, {})).toEqual({ ...full, name: 'Grace' });
  });

  it('loses its handle and its picture by an empty string', async () => {
    const me = await visitor(app, { name: 'Ada' });
    const handle = freshHandle();
    await updated(me, { handle, bio: 'b', avatarUrl: 'https://example.com/' });
    expect(await updated(me, { handle: '', bio: '', avatarUrl: '' })).toEqual({
      name: 'Ada',
      handle: null,
      bio: '',
      avatarUrl: null,
    });
    expect(await find(me.key, handle)).toBeNull();
  });

  it('is read by all who read posts', async () => {
    const me = await visitor(app);
    const profile = { handle: freshHandle(), bio: 'About me', avatarUrl: 'https://example.com/a' };
    await updated(me, profile);
    const post = await createPost(app, me.key);
    const { key } = await app.account({ scopes: ['posts:read'] });
    const query = `{ post(id: "${post}") { author { ${PROFILE} } } }`;
    expect(dataOf(await app.gql(query, { key })).post.author).toEqual(profile);
  });
});

describe('A handle', () => {
  it.each(['abc', 'x'.repeat(30), '_a_', '1a2'])('may be %s', async (handle) => {
    const me = await visitor(app);
    expect((await updated(me, { handle })).handle).toBe(handle);
    await updated(me, { handle: '' });
  });

  it.each(['ab', 'x'.repeat(31), '12345', 'Ada', 'a-b', 'a b', ' abc', 'abc\n', 'äbc', 'abc\0', '\ud83dabc'])(
    'cannot be %j',
    async (handle) => {
      const me = await visitor(app);
      expectBadInput(await update(me, { handle, bio: 'not stored' }), 'handle', /^Argument "handle" must /);
      expect(dataOf(await gqlAs(app, me.cookie, '{ viewer { handle bio } }')).viewer).toEqual({
        handle: null,
        bio: '',
      });
    },
  );

  it('belongs to one account until that account gives it up', async () => {
    const [first, second] = [await visitor(app), await visitor(app)];
    const handle = freshHandle();
    await updated(first, { handle });
    const taken = await update(second, { handle, bio: 'not stored' });
    expectBadInput(taken, 'handle', /belongs to another account/);
    expect(dataOf(await gqlAs(app, second.cookie, '{ viewer { handle bio } }')).viewer).toEqual({
      handle: null,
      bio: '',
    });
    expect((await updated(first, { handle })).handle).toBe(handle);
    await updated(first, { handle: freshHandle() });
    expect((await updated(second, { handle })).handle).toBe(handle);
  });

  it('is given to one of many accounts that ask for it together', async () => {
    const handle = freshHandle();
    const visitors = await Promise.all(Array.from({ length: 8 }, () => visitor(app)));
    const responses = await Promise.all(visitors.map((who) => update(who, { handle })));
    const rejected = responses.filter(({ errors }) => errors !== undefined);
    expect(rejected).toHaveLength(7);
    for (const response of rejected) expectBadInput(response, 'handle', /belongs to another account/);
  });

  it('is free again once the account is deleted, and the profile is gone from its posts', async () => {
    const me = await visitor(app);
    const handle = freshHandle();
    await updated(me, { handle, bio: 'About me', avatarUrl: 'https://example.com/a' });
    const post = await createPost(app, me.key);
    await adminCommand(app, ['user', 'delete', me.email, '--content', 'keep']);
    const other = await visitor(app);
    const { data } = await app.gql(`{ post(id: "${post}") { author { name ${PROFILE} } } }`, {
      key: other.key,
    });
    expect(data.post.author).toEqual({ name: 'Deleted user', handle: null, bio: '', avatarUrl: null });
    expect((await updated(other, { handle })).handle).toBe(handle);
  });

  it('that is taken undoes the whole operation', async () => {
    const [first, second] = [await visitor(app), await visitor(app, { name: 'Old' })];
    const handle = freshHandle();
    await updated(first, { handle });
    const both = `mutation { a: updateViewer(name: "New") { id } b: updateViewer(handle: "${handle}") { id } }`;
    expectBadInput(await gqlAs(app, second.cookie, both), 'handle', /belongs to another account/);
    expect(dataOf(await gqlAs(app, second.cookie, '{ viewer { name } }')).viewer.name).toBe('Old');
  });
});

describe('A bio', () => {
  it('has at most 500 code points', async () => {
    const me = await visitor(app);
    expectBadInput(await update(me, { bio: '👩'.repeat(501) }), 'bio', /0 to 500 .*501/);
    expectBadInput(await update(me, { bio: 'a\0' }), 'bio', /NUL/);
    expect((await updated(me, { bio: '👩'.repeat(500) })).bio).toBe('👩'.repeat(500));
  });
});

describe('The URL of a picture', () => {
  it.each([
    'https://example.com/a.png',
    'HTTPS://example.com:8443/?a=%C3%BC&b[]=1#c',
    `https://example.com/${'x'.repeat(480)}`,
  ])('may be %s', async (avatarUrl) => {
    expect((await updated(await visitor(app), { avatarUrl })).avatarUrl).toBe(avatarUrl);
  });

  it.each([
    'http://example.com/a.png',
    'javascript:alert(1)',
    'data:image/png;base64,AAAA',
    '//example.com/a.png',
    'https:example.com',
    'https://',
    'https://exa mple.com/',
    ' https://example.com/',
    'https://example.com/ü',
    'https://example.com/\n',
    `https://example.com/${'x'.repeat(481)}`,
    'https://example.com/\0',
  ])('cannot be %j', async (avatarUrl) => {
    expectBadInput(
      await update(await visitor(app), { avatarUrl }),
      'avatarUrl',
      /^Argument "avatarUrl" must /,
    );
  });
});

describe('Query.userByHandle', () => {
  it('returns the user, in upper or lower case, and null for any other string', async () => {
    const me = await visitor(app, { name: 'Ada' });
    const handle = freshHandle();
    await updated(me, { handle });
    const { key } = await app.account();
    for (const written of [handle, handle.toUpperCase()])
      expect(await find(key, written)).toEqual({ id: me.id, name: 'Ada' });
    for (const written of ['nobody_has_this', '', `${handle} `, `@${handle}`, me.id, 'x'.repeat(1_000)])
      expect(await find(key, written)).toBeNull();
    for (const written of ['a\0bc', '\ud83dabc'])
      expectBadInput(await app.gql(BY_HANDLE, { key, variables: { handle: written } }), 'handle');
  });

  it('needs users:read', async () => {
    const { key } = await app.account({ scopes: ['posts:read'] });
    const response = await app.gql(BY_HANDLE, { key, variables: { handle: 'abc' } });
    expectRejected(response, { code: 'FORBIDDEN', message: /users:read/ });
  });
});

describe('Statements', () => {
  const counted = useCountedDatabase();
  // Held still, the clock keeps the credentials cached.
  const now = Date.now();
  const watched = useApp({ settings: counted.settings, clock: clockOf(() => now) });

  it('a user is found by handle, with posts and comments, in one', async () => {
    const me = await visitor(watched);
    await gqlAs(watched, me.cookie, UPDATE, { variables: { handle: 'counted' } });
    await createPost(watched, me.key);
    const query = `{ userByHandle(handle: "counted") { id ${PROFILE} posts(limit: 5) { body comments { body } } } }`;
    const ask = async () => dataOf(await watched.gql(query, { key: me.key })).userByHandle;
    expect((await ask()).posts).toHaveLength(1);
    const before = counted.completed.length;
    await ask();
    expect(counted.completed.slice(before).filter((tag) => tag.startsWith('SELECT'))).toHaveLength(1);
  });
});
