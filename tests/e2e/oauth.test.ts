import { describe, expect, it } from 'vitest';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { until } from '../support/processes/process.ts';
import { admin, type ServerProcess, startServer } from '../support/processes/server.ts';

const EMAIL = 'eve@example.org';
const PASSWORD = 'a long passphrase';
const REDIRECT_URI = 'https://client.example/callback';
const SCOPES = 'posts:read users:read';

async function status(server: ServerProcess, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`${server.origin}/graphql?query={viewer{id}}`, { headers })).status;
}

describe('an OAuth client', () => {
  it('loses nothing when the service is killed, and everything when it is deleted', async () => {
    const dataDir = await migratedFolder();
    const first = await startServer(dataDir);
    await admin(['user', 'create', '--name', 'Eve', '--email', EMAIL, '--password', PASSWORD], dataDir);
    const create = ['oauth-client', 'create', '--owner', EMAIL, '--name', 'App', '--scopes', SCOPES];
    const grants = ['--grants', 'authorization_code client_credentials', '--redirect-uri', REDIRECT_URI];
    const { json: client } = await admin([...create, ...grants], dataDir);
    expect(client).toEqual({ client_id: expect.any(String), client_secret: expect.any(String) });
    const issue = (server: ServerProcess) =>
      fetch(`${server.origin}/oauth/token`, {
        method: 'POST',
        body: new URLSearchParams({ grant_type: 'client_credentials', ...client }),
      });
    const { access_token: token } = await (await issue(first)).json();
    first.kill('SIGKILL');
    await first.exited;

    const again = await startServer(dataDir);
    expect(await status(again, token)).toBe(200);
    const before = (await admin(['signing-key', 'list'], dataDir)).json;
    expect(before).toMatchObject([{ active: true, usable: true }]);
    const rotated = await admin(['signing-key', 'rotate'], dataDir);
    expect(rotated).toMatchObject({ code: 0, json: { id: expect.any(String) } });
    await until('the new key', async () =>
      (await (await fetch(`${again.origin}/oauth/jwks`)).text()).includes(rotated.json.id),
    );
    expect(await status(again, token)).toBe(200);

    expect((await admin(['signing-key', 'revoke', '-nowhere'], dataDir)).code).toBe(1);
    expect(await admin(['signing-key', 'revoke', before[0].id], dataDir)).toMatchObject({
      code: 0,
      json: { id: before[0].id, revoked: true },
    });

    expect((await admin(['oauth-client', 'list'], dataDir)).json).toEqual([
      {
        client_id: client.client_id,
        name: 'App',
        grants: ['authorization_code', 'client_credentials'],
        scopes: SCOPES.split(' '),
        redirect_uris: [REDIRECT_URI],
        post_logout_redirect_uris: [],
        public: false,
        createdAt: expect.any(String),
        owner: EMAIL,
      },
    ]);
    expect((await admin(['oauth-client', 'delete', client.client_id], dataDir)).code).toBe(0);
    expect((await admin(['oauth-client', 'delete', client.client_id], dataDir)).code).toBe(1);
    await until('the end of the token', async () => (await status(again, token)) === 401);
    expect((await issue(again)).status).toBe(401);
  });
});

describe('oauth-client create', () => {
  it('says what is wrong with a client', async () => {
    const dataDir = await migratedFolder();
    const user = ['user', 'create', '--name', 'Eve', '--email', EMAIL, '--password', PASSWORD];
    expect((await admin(user, dataDir)).code).toBe(0);
    const create = (...more: string[]) =>
      admin(['oauth-client', 'create', '--owner', EMAIL, '--name', 'x', ...more], dataDir);
    const scopes = ['--scopes', 'posts:read'];
    const code = ['--grants', 'authorization_code', ...scopes];
    const wrong: readonly [string[], number, RegExp][] = [
      [['--grants', 'password', ...scopes], 2, /Valid grants are/],
      [['--grants', 'client_credentials', '--scopes', 'nonsense'], 2, /Valid scopes are/],
      [['--grants', 'client_credentials', '--scopes', 'users:email'], 1, /cannot hold users:email/],
      [['--grants', 'client_credentials', '--public', ...scopes], 1, /public client/],
      [['--grants', 'refresh_token', ...scopes], 1, /authorization_code/],
      [code, 1, /needs a redirect URI/],
      ...[
        'http://client.example/',
        'https://client.example/#x',
        'javascript:alert(1)',
        'https://*.example/',
      ].map((uri): [string[], number, RegExp] => [[...code, '--redirect-uri', uri], 1, /redirect URI/]),
    ];
    for (const [options, exit, message] of wrong) {
      const { code: got, stdout, stderr } = await create(...options);
      expect([got, stdout], options.join(' ')).toEqual([exit, '']);
      expect(stderr).toMatch(message);
    }
  });
});
