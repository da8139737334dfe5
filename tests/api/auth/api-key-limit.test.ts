import { describe, expect, it } from 'vitest';
import { createApiKey } from '../../../src/auth/api-keys.ts';
import { oldApiKeys } from '../../../src/auth/credentials.ts';
import { adminCommand } from '../../support/admin-command.ts';
import { useApp } from '../../support/app.ts';
import { gqlAs, PASSWORD, visitor } from '../../support/credentials/session.ts';
import { dataOf, expectRejected } from '../../support/rejection.ts';

const app = useApp();
const HOUR_MS = 3_600_000;
const times = (count: number) => Array.from({ length: count }, (_, index) => index);
const CREATE = `mutation {
  createApiKey(name: "k", scopes: ["posts:read"], currentPassword: "${PASSWORD}") { apiKey { id } } }`;

const liveKeys = (userId: string) =>
  app.prisma.apiKey.count({ where: { userId, revokedAt: null, expiresAt: null } });

/** Somebody with this many keys that are valid for good, the one of the account among them. */
async function withKeys(count: number) {
  const person = await visitor(app);
  for (const _ of times(count - 1))
    await createApiKey(app.database, { userId: person.id, name: 'old', scopes: ['posts:read'] });
  return person;
}

describe('the API keys of an account that are neither revoked nor expired', () => {
  it('are 100 at most: the 101st is BAD_USER_INPUT and not made, nor by the admin command', async () => {
    const { id, cookie, email } = await withKeys(99);
    expect((await gqlAs(app, cookie, CREATE)).errors).toBeUndefined();
    const rejected = await gqlAs(app, cookie, CREATE);
    expectRejected(rejected, { code: 'BAD_USER_INPUT', message: /at most 100/ });
    expect(rejected.data).toBeNull();
    const command = ['api-key', 'create', '--user', email, '--name', 'k', '--scopes', 'posts:read'];
    await expect(adminCommand(app, command)).rejects.toThrow(/at most 100/);
    expect(await liveKeys(id)).toBe(100);
  });

  it('make room once they are revoked or expired', async () => {
    const { id, cookie } = await withKeys(99);
    const { apiKey } = app.prisma;
    const [first, second] = await apiKey.findMany({ where: { userId: id }, take: 2, select: { id: true } });
    const { id: expired } = await createApiKey(app.database, {
      userId: id,
      name: 'expired',
      scopes: ['posts:read'],
    });
    await apiKey.update({ where: { id: expired }, data: { expiresAt: new Date(Date.now() - HOUR_MS) } });
    await createApiKey(app.database, {
      userId: id,
      name: 'expires',
      scopes: ['posts:read'],
      expiresAt: new Date(Date.now() + HOUR_MS),
    });
    expect((await gqlAs(app, cookie, CREATE)).errors).toHaveLength(1);
    for (const { id: one } of [first, second].filter((row) => row !== undefined))
      await gqlAs(app, cookie, 'mutation ($id: ID!) { revokeApiKey(id: $id) }', { variables: { id: one } });
    for (const _ of times(2)) expect((await gqlAs(app, cookie, CREATE)).errors).toBeUndefined();
    expect((await gqlAs(app, cookie, CREATE)).errors).toHaveLength(1);
  });

  it('are 100 at most also when many are asked for at once', async () => {
    const { id, cookie } = await withKeys(70);
    await Promise.all(times(48).map(() => gqlAs(app, cookie, CREATE)));
    // The service may have rejected some of them because too many waited.
    for (const _ of times(101)) if ((await gqlAs(app, cookie, CREATE)).errors !== undefined) break;
    expect(await liveKeys(id)).toBe(100);
  });

  it('are 1,000 at most with those that have ended, until these are 30 days old', async () => {
    const { id, cookie } = await visitor(app);
    const anHourAgo = new Date(Date.now() - HOUR_MS);
    await app.prisma.apiKey.createMany({
      data: times(998).map((index) => ({
        userId: id,
        name: 'old',
        prefix: 'cga_',
        hash: new TextEncoder().encode(`${id} ${index}`),
        scopes: ['posts:read'],
        ...(index % 2 === 0 ? { revokedAt: anHourAgo } : { expiresAt: anHourAgo }),
      })),
    });
    const made = dataOf(await gqlAs(app, cookie, CREATE)).createApiKey.apiKey.id;
    const revoke = 'mutation ($id: ID!) { revokeApiKey(id: $id) }';
    dataOf(await gqlAs(app, cookie, revoke, { variables: { id: made } }));
    const rejected = await gqlAs(app, cookie, CREATE);
    expectRejected(rejected, { code: 'BAD_USER_INPUT', message: /at most 1000 API keys/ });
    expect(await app.prisma.apiKey.count({ where: { userId: id } })).toBe(1000);
    const old = new Date(Date.now() - 31 * 24 * HOUR_MS);
    await app.prisma.apiKey.updateMany({
      where: { userId: id, revokedAt: anHourAgo },
      data: { revokedAt: old },
    });
    await oldApiKeys.run(app.database);
    dataOf(await gqlAs(app, cookie, CREATE));
  });

  it('are counted for each account alone', async () => {
    const { cookie } = await withKeys(100);
    const other = await visitor(app);
    expect((await gqlAs(app, cookie, CREATE)).errors).toHaveLength(1);
    expect((await gqlAs(app, other.cookie, CREATE)).errors).toBeUndefined();
  });
});
