import { expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { entries } from '../../support/audit.ts';
import { freshCookie, gqlAs, login, PASSWORD, visitor } from '../../support/credentials/session.ts';
import { dataOf } from '../../support/rejection.ts';

const app = useApp();
const everything = (password: string) => `mutation { revokeEverything(currentPassword: "${password}") }`;

it('revokeEverything ends what was issued to one account, leaves its password, and tells the audit log', async () => {
  const { id, email, cookie, key } = await visitor(app);
  const other = await visitor(app);
  const second = await freshCookie(app, email);
  expect(dataOf(await gqlAs(app, second, everything(PASSWORD)))).toEqual({ revokeEverything: true });
  for (const headers of [{ cookie }, { cookie: second }, { authorization: `Bearer ${key}` }])
    await expect.poll(async () => (await app.gql('{ viewer { id } }', { headers })).status).toBe(401);
  expect((await gqlAs(app, other.cookie, '{ viewer { id } }')).status).toBe(200);
  expect((await app.gql('{ viewer { id } }', { key: other.key })).status).toBe(200);
  const [entry] = await entries(app, '--subject', id);
  expect(entry).toMatchObject({
    actor: id,
    via: expect.stringMatching(/^session:/),
    action: 'revokeEverything',
    detail: { account: id, revoked: { sessions: 2, apiKeys: 1 } },
  });
  expect((await login(app, { email, password: PASSWORD })).status).toBe(200);
});

it('revokeEverything stands in an operation once, and nothing of that operation goes on after it', async () => {
  const { cookie } = await visitor(app);
  const twice = `mutation { a: revokeEverything(currentPassword: "${PASSWORD}") b: revokeEverything(currentPassword: "${PASSWORD}") }`;
  expect((await gqlAs(app, cookie, twice)).errors?.[0]?.extensions.code).toBe('BAD_USER_INPUT');
  const after = `mutation { revokeEverything(currentPassword: "${PASSWORD}") createApiKey(name: "k", scopes: ["posts:read"], currentPassword: "${PASSWORD}") { key } }`;
  const response = await gqlAs(app, cookie, after);
  expect(response.errors?.map(({ extensions }) => extensions.code)).toEqual(['UNAUTHENTICATED']);
  expect(await app.prisma.apiKey.count({ where: { name: 'k' } })).toBe(0);
  // One unit of work: what was rejected takes the rest along.
  expect(dataOf(await gqlAs(app, cookie, '{ viewer { sessions { id } } }')).viewer.sessions).toHaveLength(1);
});
