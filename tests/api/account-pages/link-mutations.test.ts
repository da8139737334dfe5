import { describe, expect, it } from 'vitest';
import { adminCommand } from '../../support/admin-command.ts';
import { useApp } from '../../support/app.ts';
import { entries } from '../../support/audit.ts';
import { gqlAs, PASSWORD, person, visitor } from '../../support/credentials/session.ts';
import { type GraphQLResponse, graphqlPost } from '../../support/graphql.ts';
import { dataOf } from '../../support/rejection.ts';

const app = useApp({ settings: { PUBLIC_URL: 'https://api.example.com' } });
const RESET = `mutation ($email: String!, $password: String!) {
  createResetLink(email: $email, currentPassword: $password) { url expiresAt user { id } }
}`;
const INVITE = `mutation ($email: String!, $name: String!, $password: String!) {
  inviteUser(email: $email, name: $name, currentPassword: $password) { url expiresAt user { id name email } }
}`;
const URL_FORM = /^https:\/\/api\.example\.com\/account\/password\?token=cgl_[0-9A-Za-z]{36}$/;

const admin = () => visitor(app, { role: 'admin' });
const reset = (cookie: string, email: string, password = PASSWORD) =>
  gqlAs(app, cookie, RESET, { variables: { email, password } });

const expectCode = ({ errors = [] }: GraphQLResponse, code: string) =>
  expect(errors.map(({ extensions }) => extensions.code)).toEqual([code]);
const pathOf = (url: string) => new URL(url).pathname + new URL(url).search;

describe('An admin with a session', () => {
  it('gets a link for a member, which is good once', async () => {
    const { cookie } = await admin();
    const { id, email } = await person(app);
    const { createResetLink: link } = dataOf(await reset(cookie, email.toUpperCase()));
    expect(link).toEqual({
      url: expect.stringMatching(URL_FORM),
      expiresAt: expect.any(String),
      user: { id },
    });
    expect((await app.fetch(pathOf(link.url))).status).toBe(200);
  });

  it('invites somebody who has no account yet', async () => {
    const { id, cookie } = await admin();
    const variables = { email: 'Grace@example.com', name: 'Grace', password: PASSWORD };
    const { inviteUser: link } = dataOf(await gqlAs(app, cookie, INVITE, { variables }));
    expect(link.user).toMatchObject({ name: 'Grace', email: 'Grace@example.com' });
    expect(await (await app.fetch(pathOf(link.url))).text()).toContain('Welcome, Grace');
    expect((await entries(app)).at(-1)).toMatchObject({
      actor: id,
      action: 'inviteUser',
      subject: link.user.id,
      detail: { account: link.user.id },
    });
    expectCode(await gqlAs(app, cookie, INVITE, { variables }), 'BAD_USER_INPUT');
    for (const wrong of [{ name: '' }, { email: 'nobody' }, { email: `a\0@example.com` }])
      expectCode(
        await gqlAs(app, cookie, INVITE, { variables: { ...variables, email: 'b@example.com', ...wrong } }),
        'BAD_USER_INPUT',
      );
  });

  it('gives their password again', async () => {
    const { cookie } = await admin();
    const { email, id } = await person(app);
    expectCode(await reset(cookie, email, 'not the password at all'), 'BAD_USER_INPUT');
    expect(await app.prisma.accountLink.count({ where: { userId: id } })).toBe(0);
  });

  it('gets none for another admin, nobody, or an account that is disabled', async () => {
    const { cookie, email: own } = await admin();
    const other = await person(app, { role: 'admin' });
    expectCode(await reset(cookie, other.email), 'FORBIDDEN');
    expectCode(await reset(cookie, 'nobody@example.com'), 'NOT_FOUND');
    const { email } = await person(app);
    await adminCommand(app, ['user', 'disable', email]);
    expectCode(await reset(cookie, email), 'BAD_USER_INPUT');
    expect(dataOf(await reset(cookie, own)).createResetLink.url).toMatch(URL_FORM);
  });

  it('gets the same link for a request that is repeated with its key, in the same session alone', async () => {
    const { cookie } = await admin();
    const { email } = await person(app);
    const asked = () =>
      gqlAs(app, cookie, RESET, {
        variables: { email, password: PASSWORD },
        headers: { 'idempotency-key': 'one-link' },
      });
    const first = dataOf(await asked());
    expect(dataOf(await asked())).toEqual(first);
    expect((await app.fetch(pathOf(first.createResetLink.url))).status).toBe(200);
  });
});

describe('Nobody else', () => {
  it('gets a link for another account: a member, an API key of an admin, or no one', async () => {
    const { email } = await person(app);
    const member = await visitor(app);
    expectCode(await reset(member.cookie, email), 'FORBIDDEN');
    const { key } = await admin();
    const variables = { email, password: PASSWORD };
    expectCode(await app.gql(RESET, { key, variables }), 'FORBIDDEN');
    expect((await app.fetch('/graphql', graphqlPost(RESET, { variables }))).status).toBe(401);
    expect(await app.prisma.accountLink.count({ where: { emailKey: email } })).toBe(0);
  });
});
