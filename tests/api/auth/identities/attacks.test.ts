import { describe, expect, it } from 'vitest';
import { newId } from '../../../../src/platform/ids.ts';
import { adminCommand } from '../../../support/admin-command.ts';
import { useApp } from '../../../support/app.ts';
import { entries } from '../../../support/audit.ts';
import {
  callerOf,
  changeLink,
  followLink,
  newSubject,
  resetLink,
  settingsFor,
  verified,
} from '../../../support/credentials/identities.ts';
import { PASSWORD } from '../../../support/credentials/session.ts';
import { ISSUER, signToken } from '../../../support/credentials/tokens.ts';
import { graphqlPost } from '../../../support/graphql.ts';
import { secondInstance } from '../../../support/second-instance.ts';

const app = useApp({ settings: settingsFor('create') });
const newEmail = () => `${newId()}@example.com`;

/** The rows of an email address: how many accounts have the address, and the subjects that are linked to them. */
async function rowsOf(email: string) {
  const users = await app.prisma.user.findMany({
    where: { emailKey: email },
    include: { externalIdentities: true },
  });
  return {
    accounts: users.length,
    subjects: users.flatMap(({ externalIdentities }) => externalIdentities.map(({ subject }) => subject)),
  };
}

describe('The first requests of a subject at the same time', () => {
  it('find one account, on every instance', async () => {
    const [email, sub] = [newEmail(), newSubject()];
    const instances = [app, secondInstance(app), secondInstance(app)];
    const callers = await Promise.all(
      [...instances, ...instances].map((instance) => callerOf(instance, sub, verified(email))),
    );
    expect(new Set(callers)).toEqual(new Set([expect.any(String)]));
    expect(await rowsOf(email)).toEqual({ accounts: 1, subjects: [sub] });
  });

  it('leave no second account, if they name two email addresses', async () => {
    const sub = newSubject();
    const emails = [newEmail(), newEmail(), newEmail()];
    const callers = await Promise.all(
      emails.map((email) => callerOf(secondInstance(app), sub, verified(email))),
    );
    expect(new Set(callers)).toEqual(new Set([expect.any(String)]));
    expect(await app.prisma.user.count({ where: { emailKey: { in: emails } } })).toBe(1);
  });

  it('link one of several subjects with the email address of one account', async () => {
    const { id, email } = await app.account();
    expect(await followLink(app, await resetLink(app, email), PASSWORD)).toBe(200);
    const callers = await Promise.all(
      Array.from({ length: 4 }, () => callerOf(secondInstance(app), newSubject(), verified(email))),
    );
    expect(callers.filter((caller) => caller === id)).toHaveLength(1);
    expect(callers.filter((caller) => caller === 401)).toHaveLength(3);
  });
});

describe('A takeover', () => {
  it('by a link that was used before fails: only the use of a valid link verifies the email address', async () => {
    const { id, email } = await app.account();
    const used = await resetLink(app, email);
    expect(await callerOf(app, newSubject(), verified(email))).toBe(401);
    expect(await followLink(app, used, PASSWORD)).toBe(200);
    // The account is deleted, and another person gets an account with the email address.
    await adminCommand(app, ['user', 'delete', email, '--content', 'delete']);
    const { json } = await adminCommand(app, ['user', 'invite', email, '--name', 'Eve']);
    expect(json.id).not.toBe(id);
    expect(await followLink(app, used, PASSWORD)).toBe(404);
    const sub = newSubject();
    expect(await callerOf(app, sub, verified(email))).toBe(401);
    const { pathname, search } = new URL(json.link);
    expect(await followLink(app, pathname + search, PASSWORD)).toBe(200);
    // The rejection is cached for half a second.
    await expect.poll(() => callerOf(app, sub, verified(email))).toBe(json.id);
    expect(await followLink(app, pathname + search, PASSWORD)).toBe(404);
  });

  it('of an account that a token has created fails for other subjects, until its owner uses a link', async () => {
    const [email, owner, other] = [newEmail(), newSubject(), newSubject()];
    const account = await callerOf(app, owner, verified(email));
    expect(await callerOf(app, other, verified(email))).toBe(401);
    expect(await followLink(app, await resetLink(app, email), PASSWORD)).toBe(200);
    // One subject of the issuer is linked, so a later owner of the email address gets no access.
    expect(await callerOf(app, other, verified(email))).toBe(401);
    expect(await callerOf(app, owner)).toBe(account);
  });

  it('by a character that lower case maps to ASCII fails', async () => {
    const email = `k${newEmail()}`;
    const { json } = await adminCommand(app, ['user', 'invite', email, '--name', 'Kim']);
    const { pathname, search } = new URL(json.link);
    expect(await followLink(app, pathname + search, PASSWORD)).toBe(200);
    expect(await callerOf(app, newSubject(), verified(email.replace('k', '\u212a')))).toBe(401);
    expect(await callerOf(app, newSubject(), verified(email))).toBe(json.id);
  });

  it('by a role fails: an account that a token creates is no admin, and needs the role itself', async () => {
    const [email, sub] = [newEmail(), newSubject()];
    const key = await signToken(sub, { claims: { ...verified(email), role: 'admin' } });
    const response = await app.gql('{ viewer { id role } }', { key });
    expect(response.data.viewer.role).toBe('MEMBER');
  });
});

it('Rejections do not reveal whether an account has the email address', async () => {
  const { email } = await app.account();
  const { email: disabled } = await app.account();
  await adminCommand(app, ['user', 'disable', disabled]);
  const responseTo = async (claims: Record<string, unknown>) => {
    const key = await signToken(newSubject(), { claims });
    const response = await app.fetch('/graphql', graphqlPost('{ viewer { id } }', { key }));
    const { errors } = await response.json();
    return { status: response.status, challenge: response.headers.get('www-authenticate'), errors };
  };
  const unknown = await responseTo({ ...verified(newEmail()), email_verified: false });
  expect(unknown.status).toBe(401);
  for (const claims of [
    { ...verified(email), email_verified: false },
    { ...verified(disabled), email_verified: false },
    verified(email),
    verified(disabled),
  ])
    expect(await responseTo(claims)).toEqual(unknown);
});

describe('Mass sign-up', () => {
  const limited = useApp({
    settings: {
      ...settingsFor('create'),
      AUTH_FAILURE_BURST: '3',
      AUTH_FAILURE_REFILL_SECONDS: '3600',
      TRUST_PROXY: '127.0.0.0/8,::1',
    },
  });
  const from = (address: string) => ({ 'x-forwarded-for': address });

  it('is limited by IP address, and does not affect accounts that exist', async () => {
    const existing = newSubject();
    const { id, email } = await limited.account();
    await changeLink(limited, 'link', email, existing);
    const signUp = (address: string) => callerOf(limited, newSubject(), verified(newEmail()), from(address));
    for (let time = 0; time < 3; time += 1) expect(await signUp('192.0.2.1')).toEqual(expect.any(String));
    const accounts = await limited.prisma.user.count();
    for (let time = 0; time < 3; time += 1) expect(await signUp('192.0.2.1')).toBe(429);
    expect(await limited.prisma.user.count()).toBe(accounts);
    const key = await signToken(newSubject(), { claims: verified(newEmail()) });
    const response = await limited.gql('{ viewer { id } }', { key, headers: from('192.0.2.1') });
    expect(response.errors?.[0]?.message).toMatch(/^Too many new accounts from this IP address\./);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await callerOf(limited, existing, {}, from('192.0.2.1'))).toBe(id);
    expect(await signUp('192.0.2.2')).toEqual(expect.any(String));
  });

  it('counts no token that cannot create an account', async () => {
    const address = from('192.0.2.3');
    const { email } = await limited.account();
    for (const claims of [verified(email), { ...verified(newEmail()), name: '' }, {}])
      expect(await callerOf(limited, newSubject(), claims, address)).toBe(401);
    for (let time = 0; time < 3; time += 1)
      expect(await callerOf(limited, newSubject(), verified(newEmail()), address)).toEqual(
        expect.any(String),
      );
  });
});

it('The audit log has what tokens have linked and created, without email addresses and subjects', async () => {
  const [email, sub] = [newEmail(), newSubject()];
  const account = await callerOf(app, sub, verified(email));
  const list = await entries(app, '--subject', String(account));
  expect(list.map(({ action, via, actor, requestId }) => ({ action, via, actor, requestId }))).toEqual(
    ['user.create', 'user.link'].map((action) => ({
      action,
      via: 'jwt',
      actor: null,
      requestId: expect.any(String),
    })),
  );
  expect(list[1]?.detail).toEqual({ account, identity: expect.any(String), issuer: ISSUER });
  expect(JSON.stringify(list)).not.toContain(email);
  expect(JSON.stringify(list)).not.toContain(sub);
});
