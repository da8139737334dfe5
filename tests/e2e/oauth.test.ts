import * as oauth from 'oauth4webapi';
import { describe, expect, it } from 'vitest';
import { Browser } from '../support/credentials/oauth.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { until } from '../support/processes/process.ts';
import { admin, type ServerProcess, startServer } from '../support/processes/server.ts';

const EMAIL = 'eve@example.org';
const PASSWORD = 'a long passphrase';
const REDIRECT_URI = 'https://client.example/callback';
const LOOPBACK = { [oauth.allowInsecureRequests]: true };

async function status(server: ServerProcess, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`${server.origin}/graphql?query={viewer{id}}`, { headers })).status;
}

/** The pages, as a person goes through them: signs in, allows, and is led back. */
async function allowAs(server: ServerProcess, url: URL): Promise<URL> {
  const at = { fetch: (path: string, init?: RequestInit) => fetch(new URL(path, server.origin), init) };
  const browser = new Browser(at, {}, server.origin);
  let step = await browser.open(url.href);
  while (step.left === undefined) {
    const page = await step.response.text();
    const signingIn = page.includes('name="password"');
    step = await browser.submit(page, signingIn ? { email: EMAIL, password: PASSWORD } : {});
  }
  return step.left;
}

async function discover(server: ServerProcess): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(server.origin);
  const options = { algorithm: 'oauth2', ...LOOPBACK } as const;
  return oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options));
}

/** The code flow by a library that knows nothing of this service. */
async function codeFlow(server: ServerProcess, client: oauth.Client): Promise<oauth.TokenEndpointResponse> {
  const as = await discover(server);
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const url = new URL(as.authorization_endpoint ?? '');
  url.search = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    scope: 'posts:read users:read',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
  }).toString();
  const parameters = oauth.validateAuthResponse(as, client, await allowAs(server, url), state);
  const result = await oauth.authorizationCodeGrantRequest(
    as,
    client,
    oauth.None(),
    parameters,
    REDIRECT_URI,
    verifier,
    LOOPBACK,
  );
  return oauth.processAuthorizationCodeResponse(as, client, result);
}

describe('an OAuth library that knows nothing of this service', () => {
  it('loses nothing when the service is killed, and everything with its client', async () => {
    const dataDir = await migratedFolder();
    const first = await startServer(dataDir);
    await admin(['user', 'create', '--name', 'Eve', '--email', EMAIL, '--password', PASSWORD], dataDir);
    const create = ['oauth-client', 'create', '--owner', EMAIL, '--scopes', 'posts:read users:read'];
    const grants = [
      '--grants',
      'authorization_code refresh_token',
      '--redirect-uri',
      REDIRECT_URI,
      '--public',
    ];
    const { json } = await admin([...create, '--name', 'App', ...grants], dataDir);
    expect(json).toEqual({ client_id: expect.any(String) });
    const client = { client_id: json.client_id };
    const tokens = await codeFlow(first, client);
    first.kill('SIGKILL');
    await first.exited;

    const again = await startServer(dataDir);
    expect(await status(again, tokens.access_token)).toBe(200);
    const as = await discover(again);
    const refresh = async (token = '') =>
      oauth.refreshTokenGrantRequest(as, client, oauth.None(), token, LOOPBACK);
    const next = await oauth.processRefreshTokenResponse(as, client, await refresh(tokens.refresh_token));
    expect(await status(again, next.access_token)).toBe(200);

    const before = (await admin(['signing-key', 'list'], dataDir)).json;
    expect(before).toMatchObject([{ active: true, usable: true }]);
    const rotated = await admin(['signing-key', 'rotate'], dataDir);
    expect(rotated).toMatchObject({ code: 0, json: { id: expect.any(String) } });
    await until('the new key', async () =>
      (await (await fetch(`${again.origin}/oauth/jwks`)).text()).includes(rotated.json.id),
    );
    expect(await status(again, next.access_token)).toBe(200);

    expect((await admin(['signing-key', 'revoke', '-nowhere'], dataDir)).code).toBe(1);
    expect(await admin(['signing-key', 'revoke', before[0].id], dataDir)).toMatchObject({
      code: 0,
      json: { id: before[0].id, revoked: true },
    });

    const listed = (await admin(['oauth-client', 'list'], dataDir)).json;
    expect(listed).toEqual([
      {
        client_id: client.client_id,
        name: 'App',
        grants: ['authorization_code', 'refresh_token'],
        scopes: ['posts:read', 'users:read'],
        redirect_uris: [REDIRECT_URI],
        post_logout_redirect_uris: [],
        public: true,
        createdAt: expect.any(String),
        owner: EMAIL,
      },
    ]);
    expect((await admin(['oauth-client', 'delete', client.client_id], dataDir)).code).toBe(0);
    expect((await admin(['oauth-client', 'delete', client.client_id], dataDir)).code).toBe(1);
    await until('the end of the token', async () => (await status(again, next.access_token)) === 401);
    expect((await refresh(next.refresh_token)).status).toBe(401);
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
