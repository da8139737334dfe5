import { beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../../../src/platform/ids.ts';
import { useApp } from '../../../support/app.ts';
import { past } from '../../../support/content.ts';
import { dataOf } from '../../../support/rejection.ts';
import { clockOf } from '../../../support/time/stepped-clock.ts';

const app = useApp();
let key = '';
/** All users there are, by creation and then id; the caller, made last, is the last of them. */
let users: { id: string; name: string; createdAt: string }[] = [];

beforeAll(async () => {
  const rows = Array.from({ length: 24 }, (_, index) => ({
    id: newId(),
    name: `User ${index}`,
    email: `member${index}@example.com`,
    emailKey: `member${index}@example.com`,
    createdAt: past((index * 5) % 8),
  }));
  await app.prisma.user.createMany({ data: rows });
  const caller = await app.account({ name: 'Caller' });
  key = caller.key;
  const sorted = rows
    .sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1))
    .map(({ id, name, createdAt }) => ({ id, name, createdAt: createdAt.toISOString() }));
  users = [...sorted, { id: caller.id, name: 'Caller', createdAt: expect.any(String) }];
});

describe('Query.users', () => {
  const list = async (args: string) =>
    dataOf(await app.gql(`{ users${args} { id name createdAt } }`, { key })).users;

  it('gives users by creation and then id, 20 of them', async () => {
    expect(await list('')).toEqual(users.slice(0, 20));
  });

  it('follows `limit` and `offset`', async () => {
    expect(await list('(limit: 100)')).toEqual(users);
    expect(await list('(limit: 3, offset: 2)')).toEqual(users.slice(2, 5));
    expect(await list('(offset: 20)')).toEqual(users.slice(20));
    expect(await list('(limit: 0)')).toEqual([]);
    expect(await list('(limit: null, offset: null)')).toEqual(users.slice(0, 20));
  });
});

describe('Query.user', () => {
  const query = 'query ($id: ID!) { user(id: $id) { id name createdAt } }';

  it('gives the user with the id, however its hexadecimal digits are written', async () => {
    const [user] = users;
    const id = user?.id ?? '';
    for (const written of [id, id.toUpperCase()])
      expect(dataOf(await app.gql(query, { key, variables: { id: written } })).user).toEqual(user);
  });
});

describe('Query.viewer', () => {
  it('is the account behind the key', async () => {
    const { id, email, key: ownKey } = await app.account({ name: 'Grace' });
    const query = '{ viewer { id name email posts { id } } }';
    expect(dataOf(await app.gql(query, { key: ownKey }))).toEqual({
      viewer: { id, name: 'Grace', email, posts: [] },
    });
  });
});

describe('an account that is gone while its credentials are still remembered', () => {
  const now = Date.now();
  // Held still, the clock keeps the credential remembered.
  const app = useApp({ clock: clockOf(() => now) });

  it.each(['{ viewer { id } }', '{ __typename viewer { id email posts(limit: 1) { id } } }'])(
    'is no null in the place of a user: %s',
    async (query) => {
      const { id, key } = await app.account();
      expect((await app.gql(query, { key })).data.viewer.id).toBe(id);
      await app.prisma.user.delete({ where: { id } });
      const { data, errors } = await app.gql(query, { key });
      expect(data).toBeNull();
      expect(errors?.map(({ path }) => path)).toEqual([['viewer']]);
    },
  );
});
