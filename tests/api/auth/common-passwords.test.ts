import { argon2Sync, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { hashPassword, isOutdated } from '../../../src/auth/passwords.ts';
import { adminCommand } from '../../support/admin-command.ts';
import { useApp } from '../../support/app.ts';
import { cookieOf, freshCookie, gqlAs, login, PASSWORD, person } from '../../support/credentials/session.ts';
import { expectBadInput } from '../../support/rejection.ts';

const app = useApp();
/** Both are on the list, in lower case. */
const COMMON = ['1q2w3e4r5t6y', 'QWERTY123456'] as const;

describe('A password that many people use', () => {
  it.each(COMMON)('is rejected for a new account and for an old one: %s', async (password) => {
    const account = ['--name', 'A', '--email', 'a@example.com', '--password', password];
    await expect(adminCommand(app, ['user', 'create', ...account])).rejects.toThrow(/commonly used password/);
    expect(await app.prisma.user.count({ where: { emailKey: 'a@example.com' } })).toBe(0);
    const { email } = await person(app);
    const change = `mutation { changePassword(currentPassword: "${PASSWORD}", newPassword: "${password}") }`;
    expectBadInput(
      await gqlAs(app, await freshCookie(app, email), change),
      'newPassword',
      /commonly used password/,
    );
    expect((await login(app, { email, password: PASSWORD })).status).toBe(200);
  });

  it('is compared whole: one that only contains it is as good as any', async () => {
    const account = ['--name', 'A', '--email', 'whole@example.com', '--password', `${COMMON[0]} and more`];
    expect((await adminCommand(app, ['user', 'create', ...account])).failure).toBeUndefined();
  });

  it('goes on working for whoever has it already', async () => {
    const { id, email } = await person(app);
    await app.prisma.user.update({ where: { id }, data: { passwordHash: await hashPassword(COMMON[0]) } });
    expect((await login(app, { email, password: COMMON[0] })).status).toBe(200);
  });
});

/** A hash with parameters of the past. */
function oldHash(password: string): string {
  const nonce = randomBytes(16);
  const tag = argon2Sync('argon2id', {
    message: password,
    nonce,
    memory: 4_096,
    passes: 3,
    parallelism: 1,
    tagLength: 32,
  });
  const [salt, digest] = [nonce, tag].map((bytes) => bytes.toString('base64').replaceAll('=', ''));
  return `$argon2id$v=19$m=4096,t=3,p=1$${salt}$${digest}`;
}

describe('A hash with parameters of the past', () => {
  const hashOf = async (id: string) =>
    (await app.prisma.user.findUniqueOrThrow({ where: { id } })).passwordHash ?? '';

  it('is made anew by the log-in that knows the password, which ends nothing', async () => {
    const { id, email } = await person(app);
    const before = await freshCookie(app, email);
    await app.prisma.user.update({ where: { id }, data: { passwordHash: oldHash(PASSWORD) } });
    const cookies = await Promise.all(
      Array.from({ length: 3 }, async () => cookieOf(await login(app, { email, password: PASSWORD }))),
    );
    expect(isOutdated(await hashOf(id))).toBe(false);
    for (const cookie of [before, ...cookies])
      expect((await gqlAs(app, cookie, '{ viewer { id } }')).status).toBe(200);
    expect((await login(app, { email, password: PASSWORD })).status).toBe(200);
  });

  it('stays as it is where the password is wrong', async () => {
    const { id, email } = await person(app);
    const stored = oldHash(PASSWORD);
    await app.prisma.user.update({ where: { id }, data: { passwordHash: stored } });
    expect((await login(app, { email, password: 'another password' })).status).toBe(401);
    expect(await hashOf(id)).toBe(stored);
  });
});
