import { describe, expect, it } from 'vitest';
import { newId } from '../../../../src/platform/ids.ts';
import { adminCommand } from '../../../support/admin-command.ts';
import { type TestApp, useApp } from '../../../support/app.ts';
import {
  callerOf,
  changeLink,
  newSubject,
  settingsFor,
  verified,
  verifyEmail,
} from '../../../support/credentials/identities.ts';
import { jwk, lastingToken, relyingOn, useIssuer } from '../../../support/credentials/issuer.ts';
import { AUDIENCE, ISSUER, JWT_SECRET, newEcPair, signToken } from '../../../support/credentials/tokens.ts';

const MODES = ['existing', 'link', 'create'] as const;
type Mode = (typeof MODES)[number];
/** The token acts for the account of the case, for a new account, or is rejected with 401. */
type Outcome = 'account' | 'new' | 401;

interface Prepared {
  readonly account?: string;
  readonly sub: string;
  readonly claims?: Record<string, unknown>;
}

const OTHER_ISSUER = 'https://login.example.net';

/** An account and a subject of the issuer that an operator has linked to it. */
async function linked(app: TestApp) {
  const { id, email } = await app.account();
  const sub = newSubject();
  expect((await changeLink(app, 'link', email, sub)).failure).toBeUndefined();
  return { account: id, email, sub };
}

/** An account whose owner has used a link, and a token of the same email address. */
async function sameEmail(app: TestApp, { isVerified = true } = {}) {
  const { id, email } = await app.account();
  if (isVerified) await verifyEmail(app, id);
  return { account: id, email, sub: newSubject(), claims: verified(email) };
}

const CASES: readonly [
  name: string,
  prepare: (app: TestApp) => Promise<Prepared>,
  outcomes: readonly [existing: Outcome, link: Outcome, create: Outcome],
][] = [
  ['a subject that is linked', linked, ['account', 'account', 'account']],
  [
    'a subject that is linked, with the email address of another account',
    async (app) => ({ ...(await linked(app)), claims: (await sameEmail(app)).claims }),
    ['account', 'account', 'account'],
  ],
  [
    'a subject that is the id of an account',
    async (app) => {
      const { id } = await app.account();
      return { account: id, sub: id.toUpperCase() };
    },
    ['account', 'account', 'account'],
  ],
  [
    'a subject that is linked in other letters',
    async (app) => ({ sub: (await linked(app)).sub.toUpperCase() }),
    [401, 401, 401],
  ],
  ['an unknown subject', async () => ({ sub: newSubject() }), [401, 401, 401]],
  ['the id of no account', async () => ({ sub: newId() }), [401, 401, 401]],
  [
    'an unknown subject with a verified email address',
    async () => ({ sub: newSubject(), claims: verified(`${newId()}@example.com`) }),
    [401, 401, 'new'],
  ],
  [
    'the id of no account with a verified email address',
    async () => ({ sub: newId(), claims: verified(`${newId()}@example.com`) }),
    [401, 401, 'new'],
  ],
  ['an email address that both sides have verified', sameEmail, [401, 'account', 'account']],
  [
    'an email address that both sides have verified, in other letters',
    async (app) => {
      const { account, sub, email } = await sameEmail(app);
      return { account, sub, claims: verified(email.toUpperCase()) };
    },
    [401, 'account', 'account'],
  ],
  [
    'an email address that only the issuer has verified',
    (app) => sameEmail(app, { isVerified: false }),
    [401, 401, 401],
  ],
  ...[false, 'true', 1, null, undefined].map((value): (typeof CASES)[number] => [
    `an email address that only the service has verified (email_verified: ${value})`,
    async (app) => {
      const { sub, claims } = await sameEmail(app);
      return { sub, claims: { ...claims, email_verified: value } };
    },
    [401, 401, 401],
  ]),
  ...[false, undefined].map((value): (typeof CASES)[number] => [
    `an unknown email address that is not verified (email_verified: ${value})`,
    async () => ({
      sub: newSubject(),
      claims: { ...verified(`${newId()}@example.com`), email_verified: value },
    }),
    [401, 401, 401],
  ]),
  ...[undefined, '', 'x'.repeat(101), 7, 'a\0b'].map((name): (typeof CASES)[number] => [
    `an unknown email address and the name ${JSON.stringify(name)?.slice(0, 10)}`,
    async () => ({ sub: newSubject(), claims: { ...verified(`${newId()}@example.com`), name } }),
    [401, 401, 401],
  ]),
  ...['no address', '', 7, ['a@example.com'], '\u212aim@example.com', 'a@b@example.com'].map(
    (email): (typeof CASES)[number] => [
      `no email address (${JSON.stringify(email)})`,
      async () => ({ sub: newSubject(), claims: { ...verified(''), email } }),
      [401, 401, 401],
    ],
  ),
  [
    'a linked subject of a disabled account',
    async (app) => {
      const { email, ...prepared } = await linked(app);
      await adminCommand(app, ['user', 'disable', email]);
      return { ...prepared, claims: verified(`${newId()}@example.com`) };
    },
    [401, 401, 401],
  ],
  [
    'the email address of a disabled account',
    async (app) => {
      const { email, ...prepared } = await sameEmail(app);
      await adminCommand(app, ['user', 'disable', email]);
      return prepared;
    },
    [401, 401, 401],
  ],
  [
    'a linked subject of a deleted account whose content remains',
    async (app) => {
      const { email, sub } = await linked(app);
      await adminCommand(app, ['user', 'delete', email, '--content', 'keep']);
      return { sub, claims: verified(email) };
    },
    [401, 401, 401],
  ],
  [
    'a linked subject of a deleted account',
    async (app) => {
      const { email, sub } = await linked(app);
      await adminCommand(app, ['user', 'delete', email, '--content', 'delete']);
      return { sub, claims: verified(email) };
    },
    [401, 401, 401],
  ],
  [
    'the id of a deleted account',
    async (app) => {
      const { id, email } = await app.account();
      await adminCommand(app, ['user', 'delete', email, '--content', 'delete']);
      return { sub: id.toUpperCase(), claims: verified(email) };
    },
    [401, 401, 401],
  ],
  [
    'another subject with the email address of a deleted account',
    async (app) => {
      const { email } = await linked(app);
      await adminCommand(app, ['user', 'delete', email, '--content', 'keep']);
      return { sub: newSubject(), claims: verified(email) };
    },
    [401, 401, 'new'],
  ],
  [
    'a subject that was unlinked',
    async (app) => {
      const { account, email, sub } = await linked(app);
      await verifyEmail(app, account);
      expect((await changeLink(app, 'unlink', email, sub)).failure).toBeUndefined();
      return { sub, claims: { ...verified(email), iat: Math.floor(Date.now() / 1000) + 60 } };
    },
    [401, 401, 401],
  ],
  [
    'a subject that was unlinked and linked again',
    async (app) => {
      const { account, email, sub } = await linked(app);
      await changeLink(app, 'unlink', email, sub);
      expect((await changeLink(app, 'link', email, sub)).failure).toBeUndefined();
      return { account, sub, claims: { iat: Math.floor(Date.now() / 1000) + 60 } };
    },
    ['account', 'account', 'account'],
  ],
  [
    'a second subject with the email address of a linked account',
    async (app) => {
      const { account, email } = await linked(app);
      await verifyEmail(app, account);
      return { sub: newSubject(), claims: verified(email) };
    },
    [401, 401, 401],
  ],
  [
    'a linked subject of another issuer',
    async (app) => ({ ...(await linked(app)), claims: { iss: OTHER_ISSUER } }),
    [401, 401, 401],
  ],
  [
    'another issuer that vouches for the email address',
    async (app) => {
      const { claims, ...prepared } = await sameEmail(app);
      return { ...prepared, claims: { ...claims, iss: OTHER_ISSUER } };
    },
    [401, 401, 401],
  ],
  [
    'a token for another service',
    async () => ({ sub: newSubject(), claims: { ...verified(`${newId()}@example.com`), aud: 'other' } }),
    [401, 401, 401],
  ],
  [
    'a subject that is too long',
    async () => ({ sub: 'x'.repeat(256), claims: verified(`${newId()}@example.com`) }),
    [401, 401, 401],
  ],
  [
    'a subject with a NUL',
    async () => ({ sub: 'a\0b', claims: verified(`${newId()}@example.com`) }),
    [401, 401, 401],
  ],
];

describe.each(MODES.map((mode, index) => [mode, index] as const))(
  'With JWT_ACCOUNTS=%s',
  (mode: Mode, index) => {
    const app = useApp({ settings: settingsFor(mode) });

    it.each(CASES)('%s', async (_name, prepare, outcomes) => {
      const { account, sub, claims } = await prepare(app);
      const accounts = await app.prisma.user.count();
      const identities = await app.prisma.externalIdentity.count();
      // A token that has found its account finds the account again.
      for (let time = 0; time < 2; time += 1) {
        const caller = await callerOf(app, sub, claims);
        const outcome = typeof caller === 'number' ? caller : caller === account ? 'account' : 'new';
        expect(outcome).toBe(outcomes[index]);
      }
      const created = outcomes[index] === 'new' ? 1 : 0;
      expect((await app.prisma.user.count()) - accounts).toBe(created);
      expect((await app.prisma.externalIdentity.count()) - identities).toBeLessThanOrEqual(1);
    });
  },
);

describe('Without JWT_ISSUER', () => {
  const app = useApp({ settings: { JWT_SECRET } });

  it('a subject belongs to the account of its issuer', async () => {
    const sub = newSubject();
    const [one, other] = [await app.account(), await app.account()];
    await changeLink(app, 'link', one.email, sub);
    await changeLink(app, 'link', other.email, sub, OTHER_ISSUER);
    expect(await callerOf(app, sub)).toBe(one.id);
    expect(await callerOf(app, sub, { iss: OTHER_ISSUER })).toBe(other.id);
    for (const iss of [undefined, '', 'https://login.example.org', `${ISSUER}/`, ISSUER.toUpperCase(), 7])
      expect(await callerOf(app, sub, { iss })).toBe(401);
  });
});

describe('With a key of JWT_JWKS_URL', () => {
  const app = useApp();
  const issuer = useIssuer();
  const settings = { ...settingsFor('create'), JWT_SECRET: '' };
  const [key, next] = [newEcPair(), newEcPair()];

  it('a token creates an account, and counts until the issuer withdraws the key', async () => {
    const sub = newSubject();
    const email = `${newId()}@example.com`;
    const claims = { ...verified(email), exp: Math.floor(Date.now() / 1000) + 10_000_000 };
    const sign = ({ privateKey }: typeof key, kid: string) =>
      signToken(sub, { algorithm: 'ES256', key: privateKey, header: { kid }, claims });
    const [token, foreign] = [await sign(key, 'A'), await sign(next, 'A')];
    const work = async ({ clock, status }: Parameters<Parameters<typeof relyingOn>[3]>[0]) => {
      expect(await status(foreign)).toBe(401);
      expect(await app.prisma.user.count({ where: { email } })).toBe(0);
      expect(await status(token)).toBe(200);
      const { role, passwordHash, emailVerifiedAt, name } = await app.prisma.user.findUniqueOrThrow({
        where: { emailKey: email },
      });
      expect({ role, passwordHash, emailVerifiedAt, name }).toEqual({
        role: 'member',
        passwordHash: null,
        emailVerifiedAt: null,
        name: 'Grace',
      });
      issuer.published = [jwk(next, 'B')];
      clock.advance(600_000);
      expect(await status(await sign(next, 'B'))).toBe(200);
      expect(await status(token)).toBe(401);
    };
    await relyingOn(app, issuer, [jwk(key, 'A')], work, settings);
  });

  it('a linked token without scopes reads public data only', async () => {
    const { email } = await app.account();
    const sub = newSubject();
    await changeLink(app, 'link', email, sub);
    const token = await lastingToken(sub, key, 'A');
    await relyingOn(
      app,
      issuer,
      [jwk(key, 'A')],
      async ({ fetch, status }) => {
        expect(await status(token)).toBe(200);
        const headers = { authorization: `Bearer ${token}` };
        expect((await fetch('/graphql?query={viewer{id}}', { headers })).status).toBe(403);
      },
      { JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE },
    );
  });
});
