import { expect, it } from 'vitest';
import { accountPage, alertIn } from '../../support/account-page.ts';
import { useApp } from '../../support/app.ts';
import { actions } from '../../support/audit.ts';
import {
  callerOf,
  changeLink,
  followLink,
  newSubject,
  resetLink,
  settingsFor,
  verified,
} from '../../support/credentials/identities.ts';
import { freshCookie, PASSWORD, visitor } from '../../support/credentials/session.ts';
import { ISSUER, signToken } from '../../support/credentials/tokens.ts';

const app = useApp({ settings: settingsFor('create') });
const { open, send, listed } = accountPage(app);
const LIST = 'externalIdentities { id issuer subject createdAt lastUsedAt }';

it('The account page shows linked identities, and unlinks them for good', async () => {
  const { id, email, cookie } = await visitor(app);
  expect(await (await open(cookie)).text()).not.toContain('Linked identities');
  const [subject, marked] = [newSubject(), `${newSubject()}<b>`];
  const subjects = [subject, marked];
  for (const each of subjects) await changeLink(app, 'link', email, each);
  const { externalIdentities } = await listed(cookie, LIST);
  expect(externalIdentities).toEqual(
    subjects.toReversed().map((each) => ({
      id: expect.any(String),
      issuer: ISSUER,
      subject: each,
      createdAt: expect.any(String),
      lastUsedAt: null,
    })),
  );
  const page = await (await open(cookie)).text();
  expect(page).toContain(`${subject}, linked`);
  expect(page).toContain(marked.replace('<b>', '&lt;b&gt;'));
  const other = await visitor(app);
  const fields = { do: 'unlink-identity', id: externalIdentities[1].id };
  await send(other.cookie, fields);
  expect(await callerOf(app, subject)).toBe(id);
  const unlinked = await send(cookie, fields);
  expect([unlinked.status, unlinked.headers.get('location')]).toEqual([303, '/account?done=unlink-identity']);
  expect(await (await open(cookie, '?done=unlink-identity')).text()).toContain('The identity is unlinked.');
  // The issuer vouches for a new address, so another subject would get an account.
  const claims = { ...verified(`${id}@example.net`), iat: Math.floor(Date.now() / 1000) + 60 };
  await expect.poll(() => callerOf(app, subject, claims)).toBe(401);
  expect(await callerOf(app, marked, claims)).toBe(id);
  expect(await actions(app, '--actor', id)).toEqual(['unlinkIdentity']);
});

it('An account that a token has created has no password until its owner uses a link', async () => {
  const [sub, email] = [newSubject(), `${newSubject().slice(6)}@example.org`];
  const id = await callerOf(app, sub, verified(email));
  expect(id).toEqual(expect.any(String));
  const key = await signToken(sub);
  const { errors } = await app.gql('mutation { revokeEverything(currentPassword: "") }', { key });
  expect(errors?.[0]?.message).toBe(
    'Field "Mutation.revokeEverything" requires a session. Log in at /login. An account without a password needs a link to set a password first.',
  );
  expect(await followLink(app, await resetLink(app, email), PASSWORD)).toBe(200);
  const cookie = await freshCookie(app, email);
  expect((await listed(cookie, 'id email externalIdentities { subject }')) as unknown).toEqual({
    id,
    email,
    externalIdentities: [{ subject: sub }],
  });
});

it('Actions that ask for the password say that the account has none', async () => {
  const { id, cookie } = await visitor(app);
  await app.prisma.user.update({ where: { id }, data: { passwordHash: null }, select: { id: true } });
  const rejected = await send(cookie, { do: 'revoke-everything', currentPassword: PASSWORD });
  expect(rejected.status).toBe(403);
  expect(alertIn(await rejected.text())).toBe(
    'Your account has no password. Ask the operator for a link to set a password.',
  );
});
