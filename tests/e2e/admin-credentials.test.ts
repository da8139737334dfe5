import { SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { graphqlPost } from '../support/graphql.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { until } from '../support/processes/process.ts';
import { admin, demoKey, startServer } from '../support/processes/server.ts';

const SECRET = 'a-k3y-f0r-t0kens-0f-this-test-alone';
const EMAIL = 'eve@example.org';
const PASSWORD = 'a long passphrase';

describe('the admin command beside a server', () => {
  it('ends the sessions of an account at once, and a token within a second', async () => {
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir, { JWT_SECRET: SECRET });
    const user = ['user', 'create', '--name', 'Eve', '--email', EMAIL, '--password', PASSWORD];
    const { id } = (await admin(user, dataDir)).json;
    const login = await fetch(`${server.origin}/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: EMAIL, password: PASSWORD }),
    });
    expect(login.status).toBe(200);
    const cookie = login.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const token = await new SignJWT({ role: 'member' })
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject(id)
      .setJti('the-token')
      .setExpirationTime('5m')
      .sign(new TextEncoder().encode(SECRET));
    const status = async (headers: Record<string, string>) =>
      (await fetch(`${server.origin}/graphql?query={viewer{id}}`, { headers })).status;
    const bearer = { authorization: `Bearer ${token}` };
    expect([await status({ cookie }), await status(bearer)]).toEqual([200, 200]);

    const sessions = await admin(['session', 'revoke', '--user', EMAIL], dataDir);
    expect(sessions).toMatchObject({ code: 0, json: { id, revoked: 1 } });
    expect(await status({ cookie })).toBe(401);
    const revoked = await admin(['jwt', 'revoke', 'the-token'], dataDir);
    expect(revoked).toMatchObject({ code: 0, json: { jti: 'the-token', revoked: true } });
    await until('the end of the token', async () => (await status(bearer)) === 401);
    expect((await admin(['jwt', 'revoke', 'the-token'], dataDir)).code).toBe(0);
    for (const jti of ['-h', '-begins-like-an-option', '--so'])
      expect(await admin(['jwt', 'revoke', jti], dataDir)).toMatchObject({ code: 0, json: { jti } });
  });

  it('says so where there is nothing to end, and where it is asked for nothing', async () => {
    const dataDir = await migratedFolder();
    expect((await admin(['session', 'revoke', '--user', 'nobody@example.org'], dataDir)).code).toBe(1);
    expect((await admin(['session', 'revoke'], dataDir)).code).toBe(2);
    expect((await admin(['jwt', 'revoke'], dataDir)).code).toBe(2);
    expect((await admin(['jwt', 'revoke', ''], dataDir)).code).toBe(1);
  });
});

describe('stream-token', () => {
  it('lists the tokens with what they open, and revokes them: their streams end', async () => {
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir, { CREDENTIAL_RECHECK_MS: '100' });
    const query = 'subscription Titles { postCreated { title } }';
    const issued = await fetch(
      `${server.origin}/graphql/stream-token`,
      graphqlPost(query, { key: await demoKey(dataDir), operationName: 'Titles' }),
    );
    const { token, expiresAt } = (await issued.json()) as { token: string; expiresAt: string };
    const open = () =>
      fetch(`${server.origin}/graphql?stream_token=${token}`, { headers: { accept: 'text/event-stream' } });
    const stream = await open();
    expect(stream.status).toBe(200);
    const { json, stdout } = await admin(['stream-token', 'list'], dataDir);
    expect(json).toEqual([
      {
        id: expect.any(String),
        user: 'ada@example.com',
        credentials: 'api-key',
        client: expect.stringMatching(/^\S+:key:\S+$/),
        query,
        operationName: 'Titles',
        createdAt: expect.any(String),
        lastUsedAt: expect.any(String),
        expiresAt: expect.any(String),
        maxExpiresAt: expect.any(String),
      },
    ]);
    expect(Date.parse(json[0].expiresAt)).toBeGreaterThanOrEqual(Date.parse(expiresAt));
    expect(stdout).not.toContain(token);

    const revoke = ['stream-token', 'revoke', json[0].id];
    expect(await admin(revoke, dataDir)).toMatchObject({ code: 0, json: { id: json[0].id, revoked: true } });
    expect((await open()).status).toBe(401);
    const events = await stream.text();
    expect(events).toContain('UNAUTHENTICATED');
    expect(events).toMatch(/event: complete\ndata:\s*\n\n$/);
    for (const id of [json[0].id, 'x'])
      expect((await admin(['stream-token', 'revoke', id], dataDir)).code).toBe(1);
    expect((await admin(['stream-token', 'revoke'], dataDir)).code).toBe(2);
    expect((await admin(['stream-token', 'list'], dataDir)).json).toEqual([]);
  });
});
