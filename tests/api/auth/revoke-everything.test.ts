import { expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { gqlAs, PASSWORD, visitor } from '../../support/credentials/session.ts';
import { dataOf } from '../../support/rejection.ts';

const app = useApp();

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
