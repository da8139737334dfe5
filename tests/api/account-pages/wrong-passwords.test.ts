import { expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { gqlAs, login, PASSWORD, visitor } from '../../support/credentials/session.ts';
import { linesOf } from '../../support/log-lines.ts';

const app = useApp({ settings: { AUTH_FAILURE_BURST: '3', AUTH_FAILURE_REFILL_SECONDS: '3600' } });
const NEW = 'a new and long enough password';
/** Mutations that need the password. */
const MUTATIONS: readonly (readonly [name: string, ask: (password: string) => string])[] = [
  ['revokeEverything', (password) => `revokeEverything(currentPassword: "${password}")`],
  ['changePassword', (password) => `changePassword(currentPassword: "${password}", newPassword: "${NEW}")`],
  [
    'createApiKey',
    (password) => `createApiKey(name: "k", scopes: ["users:read"], currentPassword: "${password}") { key }`,
  ],
];

const send = (cookie: string, action: string) =>
  app.fetch('/account', {
    method: 'POST',
    headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      do: action,
      currentPassword: 'wrong',
      days: '30',
      newPassword: NEW,
      again: NEW,
    }),
  });

it.each(['download', 'create-key', 'change-password', 'revoke-everything'])(
  'the form "%s" of the account page does nothing with a wrong password, and too many are 429',
  async (action) => {
    const { id, email, cookie } = await visitor(app);
    const include = { sessions: true, apiKeys: true };
    const before = await app.prisma.user.findUniqueOrThrow({ where: { id }, include });
    for (let time = 0; time < 3; time += 1) {
      const rejected = await send(cookie, action);
      expect([rejected.status, rejected.headers.get('content-disposition')]).toEqual([400, null]);
    }
    const rejected = await send(cookie, action);
    expect(rejected.status).toBe(429);
    expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await rejected.text()).toContain('role="alert"');
    const after = await app.prisma.user.findUniqueOrThrow({ where: { id }, include });
    const held = ({ passwordHash, sessions, apiKeys }: typeof before) => [
      passwordHash,
      sessions.map((session) => session.id),
      apiKeys.map((key) => key.revokedAt),
    ];
    expect(held(after)).toEqual(held(before));
    const told = linesOf(app.logged, 'auth.login_failed').filter(({ accountId }) => accountId === id);
    expect(told.map(({ reason }) => reason)).toEqual(Array(3).fill('wrong_password'));
    // The owner can still sign in elsewhere.
    expect((await login(app, { email, password: PASSWORD })).status).toBe(200);
  },
);

it.each(MUTATIONS)(
  '%s does nothing with a wrong password, and too many are RATE_LIMITED',
  async (_name, mutation) => {
    const { id, email, cookie } = await visitor(app);
    const ask = async (password: string) =>
      (await gqlAs(app, cookie, `mutation { ${mutation(password)} }`)).errors?.map(
        ({ extensions }) => extensions.code,
      );
    for (let time = 0; time < 3; time += 1) expect(await ask('wrong')).toEqual(['BAD_USER_INPUT']);
    for (const password of ['wrong', PASSWORD]) expect(await ask(password)).toEqual(['RATE_LIMITED']);
    expect(await app.prisma.session.count({ where: { userId: id } })).toBe(1);
    expect(await app.prisma.apiKey.count({ where: { userId: id } })).toBe(1);
    expect((await login(app, { email, password: PASSWORD })).status).toBe(200);
  },
);
