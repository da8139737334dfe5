import { expect, it } from 'vitest';
import { AccountError } from '../../../../src/auth/accounts.ts';
import { adminCommand } from '../../../support/admin-command.ts';
import { useApp } from '../../../support/app.ts';
import { entries } from '../../../support/audit.ts';
import { callerOf, changeLink, newSubject, settingsFor } from '../../../support/credentials/identities.ts';
import { ISSUER, signToken } from '../../../support/credentials/tokens.ts';
import { secondInstance } from '../../../support/second-instance.ts';
import { subscribe } from '../../../support/streams/subscriber.ts';

const app = useApp({ settings: settingsFor('existing') });

it('user link and user unlink change an account, and the audit log has who did it', async () => {
  const { id, email } = await app.account();
  const sub = newSubject();
  const { json: linked } = await changeLink(app, 'link', email, sub);
  expect(linked).toEqual({ id, identity: expect.any(String), issuer: ISSUER });
  expect(await callerOf(app, sub)).toBe(id);
  const { json: unlinked } = await changeLink(app, 'unlink', email, sub);
  expect(unlinked).toEqual(linked);
  const list = await entries(app, '--subject', id);
  expect(list.map(({ action, via, detail }) => [action, via, detail])).toEqual(
    ['user.link', 'user.unlink'].map((action) => [
      action,
      'command',
      { account: id, identity: linked.identity, issuer: ISSUER, operator: expect.any(Object) },
    ]),
  );
});

it('user link changes nothing if the subject is linked, or if the account does not exist', async () => {
  const [one, other] = [await app.account(), await app.account()];
  const sub = newSubject();
  await changeLink(app, 'link', one.email, sub);
  for (const { email } of [one, other])
    await expect(changeLink(app, 'link', email, sub)).rejects.toThrow(
      new AccountError(
        `Subject "${sub}" of issuer "${ISSUER}" is already linked to account ${one.id}. Nothing was changed. Run "user unlink" for that account first.`,
      ),
    );
  expect(await callerOf(app, sub)).toBe(one.id);
  await expect(changeLink(app, 'link', 'unknown@example.com', newSubject())).rejects.toThrow(AccountError);
  const { failure } = await changeLink(app, 'unlink', other.email, sub);
  expect(failure).toBe(
    `Subject "${sub}" of issuer "${ISSUER}" is not linked to account "${other.email}". Nothing was changed. Run "user export ${other.email}" to see the linked identities.`,
  );
  expect(await callerOf(app, sub)).toBe(one.id);
});

it.each(['', 'x'.repeat(256)])('user link rejects an identifier of another length', async (subject) => {
  const { email } = await app.account();
  await expect(changeLink(app, 'link', email, subject)).rejects.toThrow('1 to 255 characters');
});

it.each(['7', 'x'.repeat(255)])('user link links the shortest and the longest subject', async (subject) => {
  const { id, email } = await app.account();
  await changeLink(app, 'link', email, subject);
  expect(await callerOf(app, subject)).toBe(id);
});

it('user unlink closes the streams of the token, on every instance', async () => {
  const { email } = await app.account();
  const sub = newSubject();
  await changeLink(app, 'link', email, sub);
  const key = await signToken(sub, { claims: { iat: Math.floor(Date.now() / 1000) } });
  const streams = [
    (await subscribe(app, { key })).stream,
    (await subscribe(secondInstance(app), { key })).stream,
  ];
  await changeLink(app, 'unlink', email, sub);
  for (const stream of streams) {
    const { errors } = await stream.next();
    expect(errors.map((error: { extensions: { code: string } }) => error.extensions.code)).toEqual([
      'UNAUTHENTICATED',
    ]);
  }
});

it('user export has the identities with their last use, and user delete removes them', async () => {
  const { email } = await app.account();
  const sub = newSubject();
  const { json } = await changeLink(app, 'link', email, sub);
  const exported = async () =>
    (await adminCommand(app, ['user', 'export', email])).json.externalIdentities as Record<string, unknown>[];
  const identity = { id: json.identity, issuer: ISSUER, subject: sub, createdAt: expect.any(String) };
  expect(await exported()).toEqual([{ ...identity, lastUsedAt: null }]);
  await callerOf(app, sub);
  await expect.poll(exported).toEqual([{ ...identity, lastUsedAt: expect.any(String) }]);
  await adminCommand(app, ['user', 'delete', email, '--content', 'keep']);
  expect(await app.prisma.externalIdentity.count({ where: { subject: sub } })).toBe(0);
  expect(await callerOf(app, sub)).toBe(401);
});
