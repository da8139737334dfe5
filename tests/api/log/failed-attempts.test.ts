import { describe, expect, it } from 'vitest';
import { API_KEY } from '../../../src/auth/api-keys.ts';
import { disableAccount } from '../../../src/auth/revocation.ts';
import type { LogEventCode } from '../../../src/platform/log/log-events.ts';
import { startApp, useApp } from '../../support/app.ts';
import { basic, oauthClient, postForm } from '../../support/credentials/oauth.ts';
import { cookieOf, login, PASSWORD, person, visitor } from '../../support/credentials/session.ts';
import { AUDIENCE, ISSUER, JWT_SECRET, signToken } from '../../support/credentials/tokens.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { INFO, linesOf, WARN } from '../../support/log-lines.ts';

const ADDRESS = '203.0.113.7';
const from = { 'x-forwarded-for': ADDRESS };

const app = useApp({
  settings: {
    TRUST_PROXY: '127.0.0.1',
    JWT_SECRET,
    JWT_ISSUER: ISSUER,
    JWT_AUDIENCE: AUDIENCE,
    METRICS_TOKEN: 'a token for the metrics',
  },
});

/** The lines of this event that belong to a request. */
const linesFor = (event: LogEventCode, response: Response) =>
  linesOf(app.logged, event).filter(({ requestId }) => requestId === response.headers.get('x-request-id'));

const query = (headers: Record<string, string>, search = '') =>
  app.fetch(`/graphql${search}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...from, ...headers },
    body: '{"query":"{ viewer { id } }"}',
  });

describe('the log of logins', () => {
  const attempt = (email: string, password: string) => login(app, { email, password }, from);

  it('has the address and the account of a wrong password', async () => {
    const { id, email } = await person(app);
    const response = await attempt(email.toUpperCase(), 'not the password');
    expect(linesFor('auth.login_failed', response)).toEqual([
      expect.objectContaining({ level: WARN, clientIp: ADDRESS, accountId: id, reason: 'wrong_password' }),
    ]);
  });

  it('says that there is no such account, and nothing of what was typed', async () => {
    const typed = 'my secret passphrase';
    const response = await attempt(typed, 'whatever it is');
    expect(linesFor('auth.login_failed', response)).toEqual([
      expect.objectContaining({ clientIp: ADDRESS, reason: 'unknown_account' }),
    ]);
    expect(app.logged.join('')).not.toContain(typed);
    expect(app.logged.join('')).not.toContain('whatever it is');
  });

  it('tells disabled accounts, and those without a password', async () => {
    const disabled = await person(app);
    await disableAccount(app.database, disabled.id);
    const without = await app.account();
    const reasons = [];
    for (const { email } of [disabled, without])
      reasons.push(...linesFor('auth.login_failed', await attempt(email, PASSWORD)));
    expect(reasons).toEqual([
      expect.objectContaining({ accountId: disabled.id, reason: 'account_disabled' }),
      expect.objectContaining({ accountId: without.id, reason: 'no_password' }),
    ]);
  });

  it('has successful ones too', async () => {
    const { id, email } = await person(app);
    const response = await attempt(email, PASSWORD);
    expect(linesFor('auth.login', response)).toEqual([
      expect.objectContaining({ level: INFO, clientIp: ADDRESS, accountId: id }),
    ]);
  });
});

describe('the log of changed passwords', () => {
  const change = (cookie: string, more = '') =>
    app.fetch('/graphql', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        cookie,
        'idempotency-key': `k${more.length}`,
        ...from,
      },
      body: JSON.stringify({
        query: `mutation { changePassword(currentPassword: "${PASSWORD}", newPassword: "${PASSWORD}!") ${more} }`,
      }),
    });

  it('has those that are committed, and none that is undone or replayed', async () => {
    const { id, cookie } = await visitor(app);
    const undone = await change(cookie, 'createPost(title: "", body: "b") { id }');
    expect(undone.status).toBe(200);
    expect(linesFor('auth.password_changed', undone)).toEqual([]);
    const changed = await change(cookie);
    expect(linesFor('auth.password_changed', changed)).toEqual([
      expect.objectContaining({ level: INFO, clientIp: ADDRESS, accountId: id }),
    ]);
    const replayed = await change(cookieOf(changed));
    expect(replayed.headers.get('idempotency-replayed')).toBe('true');
    expect(linesFor('auth.password_changed', replayed)).toEqual([]);
  });
});

describe('the log of failed credentials', () => {
  const lineOf = async (response: Response) => {
    expect(response.status).toBe(401);
    const lines = linesFor('auth.credential_rejected', response);
    expect(lines).toHaveLength(1);
    return lines[0];
  };

  it('has the account of a revoked API key, and not that of an unknown one', async () => {
    const { id, key } = await app.account();
    await app.prisma.apiKey.updateMany({ where: { userId: id }, data: { revokedAt: new Date() } });
    expect(await lineOf(await query({ authorization: `Bearer ${key}` }))).toMatchObject({
      level: WARN,
      clientIp: ADDRESS,
      credentialType: 'api-key',
      accountId: id,
    });
    const unknown = API_KEY.generate();
    const line = await lineOf(await query({}, `?api_key=${unknown}`));
    expect(line).toMatchObject({ clientIp: ADDRESS, credentialType: 'api-key' });
    expect(line).not.toHaveProperty('accountId');
    expect(app.logged.join('')).not.toContain(unknown);
  });

  it('has the account of an expired session', async () => {
    const { id, cookie } = await visitor(app);
    await app.prisma.session.updateMany({
      where: { userId: id },
      data: { expiresAt: new Date(0) },
    });
    expect(await lineOf(await query({ cookie }))).toMatchObject({ credentialType: 'session', accountId: id });
  });

  it('has the account of a JWT whose account is disabled, and none of a forged one', async () => {
    const { id } = await app.account();
    await disableAccount(app.database, id);
    const token = await signToken(id);
    expect(await lineOf(await query({ authorization: `Bearer ${token}` }))).toMatchObject({
      credentialType: 'jwt',
      accountId: id,
    });
    const forged = await signToken(id, { key: new TextEncoder().encode('x'.repeat(32)) });
    expect(await lineOf(await query({ authorization: `Bearer ${forged}` }))).not.toHaveProperty('accountId');
  });

  it('has the kind of what is not even well-formed', async () => {
    expect(await lineOf(await query({ authorization: 'Basic dXNlcjpwYXNz' }))).toMatchObject({
      credentialType: 'unknown',
    });
    expect(await lineOf(await app.fetch('/graphql?stream_token=nonsense', { headers: from }))).toMatchObject({
      credentialType: 'stream-token',
    });
  });

  it('has the client of a wrong OAuth secret', async () => {
    const owner = await app.account();
    const client = await oauthClient(app, { owner, grants: ['client_credentials'] });
    const wrong = basic({ ...client, secret: 'wrong' });
    const { status, headers } = await postForm(
      app,
      '/oauth/token',
      { grant_type: 'client_credentials' },
      { ...wrong, ...from },
    );
    expect(status).toBe(401);
    const lines = linesOf(app.logged, 'auth.credential_rejected').filter(
      ({ requestId }) => requestId === headers.get('x-request-id'),
    );
    expect(lines).toEqual([
      expect.objectContaining({ clientIp: ADDRESS, credentialType: 'client-secret', client: client.id }),
    ]);
  });

  it('has wrong tokens for /metrics', async () => {
    const wrong = { ...from, authorization: 'Bearer not the token' };
    expect(await lineOf(await app.fetch('/metrics', { headers: wrong }))).toMatchObject({
      credentialType: 'metrics-token',
    });
  });

  it('has no line of a page that asks who is logged in', async () => {
    const response = await app.fetch('/login', { headers: { cookie: 'session_id=gone', ...from } });
    expect(response.status).toBe(200);
    expect(linesFor('auth.credential_rejected', response)).toEqual([]);
  });

  it('is limited in number, and says how many lines it lacks', async () => {
    const own = await startApp(await createTestDatabase());
    const attempts = 250;
    for (let count = 0; count < attempts; count += 1)
      await own.fetch('/graphql', { method: 'POST', headers: { authorization: 'Bearer cga_nonsense' } });
    await own.stop();
    const written = linesOf(own.logged, 'auth.credential_rejected').length;
    const suppressed = linesOf(own.logged, 'log.suppressed');
    expect(written).toBeLessThan(attempts);
    expect(suppressed.reduce((sum, line) => sum + Number(line.suppressedCount), written)).toBe(attempts);
    expect(suppressed[0]).toMatchObject({
      level: WARN,
      subject: 'auth.credential_rejected',
      credentialType: 'api-key',
    });
  });
});
