import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import {
  authorizeClient,
  authorizeUrl,
  Browser,
  oauthClient,
  PKCE,
  REDIRECT_URI,
  type TestClient,
} from '../../support/credentials/oauth.ts';
import { person } from '../../support/credentials/session.ts';

const app = useApp({ settings: { TRUST_PROXY: '127.0.0.1' } });
const { challenge } = PKCE();
/** docs/guides/oauth.md, limits. */
const MAX_LEFT = 100;
const MAX_PARAMETER = 2_048;

let client: TestClient;
beforeAll(async () => {
  client = await oauthClient(app, { owner: await app.account() });
});

const begin = (address: string, extra: Record<string, string> = {}) =>
  app.fetch(authorizeUrl(client, { challenge, extra }), {
    redirect: 'manual',
    headers: { 'x-forwarded-for': address },
  });

/** How many sign-ins under way there are, and the bytes that they take. */
async function stored(): Promise<{ count: number; bytes: number }> {
  const [row] = await app.prisma.$queryRaw<[{ count: number; bytes: number }]>`
    SELECT count(*)::int AS count, COALESCE(sum(octet_length(payload::text)), 0)::int AS bytes
    FROM oauth_records WHERE model = 'Interaction'`;
  return row;
}

describe('an authorization request', () => {
  it.each(['state', 'login_hint', 'ui_locales'])(
    'with more than 2048 characters of %s is rejected in OAuth’s form, and leaves nothing',
    async (name) => {
      const before = await stored();
      const { left } = await new Browser(app).open(
        authorizeUrl(client, { challenge, extra: { [name]: 'x'.repeat(MAX_PARAMETER + 1) } }),
      );
      expect(left?.origin + (left?.pathname ?? '')).toBe(REDIRECT_URI);
      expect(left?.searchParams.get('error')).toBe('invalid_request');
      expect(left?.searchParams.get('error_description')).toContain(name);
      expect(await stored()).toEqual(before);
      const good = { [name]: 'x'.repeat(MAX_PARAMETER) };
      expect((await begin('198.51.100.1', good)).headers.get('location')).toMatch(/^\/oauth\/interaction\//);
    },
  );

  it('with more than 5000 bytes in all is rejected, however many parameters they are in', async () => {
    const before = await stored();
    const extra = {
      state: 'x'.repeat(2_000),
      ui_locales: 'x'.repeat(2_000),
      login_hint: '\u{1f600}'.repeat(300),
    };
    const result = await begin('198.51.100.1', extra);
    expect(result.headers.get('location')).toMatch(/[?&]error=invalid_request/);
    expect(await stored()).toEqual(before);
  });

  it('gives a state of 2048 characters back as it is', async () => {
    const state = Array.from({ length: MAX_PARAMETER }, (_, at) => String.fromCharCode(33 + (at % 94))).join(
      '',
    );
    const { left } = await new Browser(app).open(
      authorizeUrl(client, { challenge, extra: { state, prompt: 'none' } }),
    );
    expect(left?.searchParams.get('state')).toBe(state);
  });
});

describe('an address', () => {
  it('leaves 100 sign-ins under way at most: the oldest goes for a new one, other addresses’ stay', async () => {
    const other = new Browser(app);
    const { response } = await other.open(authorizeUrl(client, { challenge }));
    const page = /action="([^"]+)\/login"/.exec(await response.text())?.[1] ?? '';
    await app.prisma
      .$executeRaw`DELETE FROM oauth_records WHERE model = 'Interaction' AND payload::text NOT LIKE '%login%'`;
    const before = (await stored()).count;
    for (let round = 0; round < 3; round += 1)
      await Promise.all(
        Array.from({ length: 50 }, () => begin('203.0.113.5', { state: 'x'.repeat(MAX_PARAMETER) })),
      );
    await begin('203.0.113.5');
    const { count, bytes } = await stored();
    expect(count - before).toBeLessThanOrEqual(MAX_LEFT);
    expect(bytes).toBeLessThan((MAX_LEFT + before) * 6_000);
    expect((await other.fetch(page)).status).toBe(200);
    // The newest one is good.
    const user = await person(app);
    expect((await authorizeClient(app, client, user)).code).toEqual(expect.any(String));
  });
});
