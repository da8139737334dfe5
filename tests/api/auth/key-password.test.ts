import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { cookieOf, gqlAs, login, PASSWORD, type Person, visitor } from '../../support/credentials/session.ts';
import { dataOf, expectBadInput, expectRejected } from '../../support/rejection.ts';

const FAILURES = 10;
const app = useApp({
  settings: {
    AUTH_FAILURE_BURST: String(FAILURES),
    AUTH_FAILURE_REFILL_SECONDS: '3600',
    TRUST_PROXY: '127.0.0.1',
    PUBLIC_URL: 'https://api.example.com',
  },
});
const NEW_PASSWORD = 'another long password';

const CREATE_KEY = `mutation ($password: String) {
  createApiKey(name: "k", scopes: ["users:read"], currentPassword: $password) { key } }`;
const createKey = (cookie: string, password?: string | null) =>
  gqlAs(app, cookie, CREATE_KEY, { variables: password === undefined ? {} : { password } });
const countKeys = ({ id }: Pick<Person, 'id'>) => app.prisma.apiKey.count({ where: { userId: id } });

describe('createApiKey', () => {
  it.each([
    ['without a password', undefined, /is required\.$/],
    ['with null', null, /is required\.$/],
    ['with an empty password', '', /is not the current password\.$/],
    ['with a wrong password', 'not the password', /is not the current password\.$/],
  ])('%s is BAD_USER_INPUT and creates no key', async (_how, password, message) => {
    const owner = await visitor(app);
    const rejected = await createKey(owner.cookie, password);
    expectBadInput(rejected, 'currentPassword', message);
    expect(rejected.data).toBeNull();
    expect(await countKeys(owner)).toBe(1);
  });

  it('can be selected only once in an operation', async () => {
    const owner = await visitor(app);
    const field = `createApiKey(name: "k", scopes: ["users:read"], currentPassword: "${PASSWORD}") { key }`;
    const rejected = await gqlAs(app, owner.cookie, `mutation { a: ${field} b: ${field} }`);
    expectRejected(rejected, { code: 'BAD_USER_INPUT', message: /"createApiKey" can be selected only once/ });
    expect(await countKeys(owner)).toBe(1);
  });
});

/** Strangers at many IP addresses send wrong passwords until even the right password is rejected. */
async function attackLogins({ email }: Person): Promise<void> {
  const statuses: number[] = [];
  for (let stranger = 1; stranger <= FAILURES + 1; stranger += 1) {
    const from = { 'x-forwarded-for': `203.0.113.${stranger}` };
    statuses.push((await login(app, { email, password: 'a guess' }, from)).status);
  }
  expect(statuses.filter((status) => status === 401)).toHaveLength(FAILURES);
  const own = await login(app, { email, password: PASSWORD }, { 'x-forwarded-for': '198.51.100.1' });
  expect(own.status).toBe(429);
}

describe('an owner whose login strangers have blocked with wrong passwords', () => {
  it('can still use createApiKey, changePassword and revokeEverything in a session', async () => {
    const owner = await visitor(app);
    await attackLogins(owner);
    dataOf(await createKey(owner.cookie, PASSWORD));
    const change = `mutation { changePassword(currentPassword: "${PASSWORD}", newPassword: "${NEW_PASSWORD}") }`;
    const changed = await gqlAs(app, owner.cookie, change);
    expect(dataOf(changed)).toEqual({ changePassword: true });
    const revoke = `mutation { revokeEverything(currentPassword: "${NEW_PASSWORD}") }`;
    expect(dataOf(await gqlAs(app, cookieOf(changed), revoke))).toEqual({ revokeEverything: true });
  });

  it('can still use inviteUser and createResetLink as an admin', async () => {
    const admin = await visitor(app, { role: 'admin' });
    const member = await app.account();
    await attackLogins(admin);
    const ask = (field: string) => gqlAs(app, admin.cookie, `mutation { ${field} { url } }`);
    const password = `currentPassword: "${PASSWORD}"`;
    dataOf(await ask(`inviteUser(email: "invited@example.com", name: "Invited", ${password})`));
    dataOf(await ask(`createResetLink(email: "${member.email}", ${password})`));
  });
});
