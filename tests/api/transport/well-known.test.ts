import * as oauth from 'oauth4webapi';
import { describe, expect, it } from 'vitest';
import { SCOPES } from '../../../src/auth/scopes.ts';
import { useApp } from '../../support/app.ts';
import { oauthClient } from '../../support/credentials/oauth.ts';
import { callingApp } from '../../support/credentials/oauth-application.ts';
import { freshCookie, person } from '../../support/credentials/session.ts';
import { clockOf } from '../../support/time/stepped-clock.ts';

const PUBLIC_URL = 'https://api.example.com';
const DAY_MS = 86_400_000;
let nowMs = Date.now();
const app = useApp({
  settings: {
    PUBLIC_URL,
    SECURITY_CONTACT: 'mailto:security@example.com, https://example.com/report',
  },
  clock: clockOf(() => nowMs),
});
const bare = useApp();

describe('/.well-known/security.txt', () => {
  const PATH = '/.well-known/security.txt';

  it('names the contacts, and expires in the future whenever it is read', async () => {
    for (const daysLater of [0, 1, 179, 400, 5_000]) {
      nowMs = Date.UTC(2030, 0, 1, 23, 59, 59, 999) + daysLater * DAY_MS;
      const response = await app.fetch(PATH);
      expect([response.status, response.headers.get('content-type')]).toEqual([
        200,
        'text/plain; charset=utf-8',
      ]);
      const lines = (await response.text()).split('\n');
      const expires = lines[2]?.replace('Expires: ', '') ?? '';
      expect(lines).toEqual([
        'Contact: mailto:security@example.com',
        'Contact: https://example.com/report',
        `Expires: ${new Date(expires).toISOString()}`,
        `Canonical: ${PUBLIC_URL}${PATH}`,
        '',
      ]);
      const aheadMs = Date.parse(expires) - nowMs;
      expect(aheadMs).toBeGreaterThan(30 * DAY_MS);
      expect(aheadMs).toBeLessThan(365 * DAY_MS);
    }
    nowMs = Date.now();
  });

  it('is 404 without SECURITY_CONTACT', async () => {
    expect((await bare.fetch(PATH)).status).toBe(404);
  });
});

describe('/.well-known/change-password', () => {
  it('leads to the form of the account page that changes the password', async () => {
    const response = await app.fetch('/.well-known/change-password', { redirect: 'manual' });
    expect(response.status).toBe(303);
    const { pathname, hash } = new URL(response.headers.get('location') ?? '', PUBLIC_URL);
    const { email } = await person(bare);
    const page = await (
      await bare.fetch(pathname, { headers: { cookie: await freshCookie(bare, email) } })
    ).text();
    const form = [...page.matchAll(/<form[\s\S]*?<\/form>/g)].find(([text]) =>
      text.includes(`id="${hash.slice(1)}"`),
    );
    expect(form?.[0]).toContain('value="change-password"');
  });

  it('has no redirect under a made-up name, which password managers ask for to see whether redirects mean anything', async () => {
    const path = '/.well-known/resource-that-should-not-exist-whose-status-code-should-not-be-200';
    expect((await app.fetch(path, { redirect: 'manual' })).status).toBe(404);
  });
});

describe('/.well-known/oauth-protected-resource', () => {
  const METADATA = `${PUBLIC_URL}/.well-known/oauth-protected-resource/graphql`;

  it.each([
    ['', `${PUBLIC_URL}/`],
    ['/graphql', `${PUBLIC_URL}/graphql`],
  ])('describes the resource that its path names: "%s"', async (suffix, resource) => {
    const response = await app.fetch(`/.well-known/oauth-protected-resource${suffix}`);
    expect(await oauth.processResourceDiscoveryResponse(new URL(resource), response)).toEqual({
      resource: resource.replace(/\/$/, ''),
      authorization_servers: [PUBLIC_URL],
      scopes_supported: [...SCOPES],
      bearer_methods_supported: ['header'],
    });
  });

  it('is 404 for other resources', async () => {
    for (const suffix of ['/', '/login', '/graphql/', '/graphql/stream-token'])
      expect((await app.fetch(`/.well-known/oauth-protected-resource${suffix}`)).status, suffix).toBe(404);
  });

  const query = `/graphql?query=${encodeURIComponent('{ viewer { id } }')}`;
  const token = { method: 'POST', body: '{"query":"subscription { changes { kind } }"}' };
  it.each<[string, string, RequestInit, string]>([
    ['a query without credentials', query, {}, 'Bearer '],
    [
      'a query with a bad token',
      query,
      { headers: { authorization: 'Bearer x' } },
      'Bearer error="invalid_token", ',
    ],
    ['a stream', query, { headers: { accept: 'text/event-stream' } }, 'Bearer '],
    ['a stream token', '/graphql/stream-token', token, 'Bearer '],
  ])('is named by the 401 of %s', async (_what, path, init, start) => {
    const { status, headers } = await app.fetch(path, init);
    const challenge = headers.get('www-authenticate') ?? '';
    expect(status).toBe(401);
    expect(challenge.startsWith(start)).toBe(true);
    expect(challenge.endsWith(` resource_metadata="${METADATA}"`)).toBe(true);
  });

  it('is not named where no access token counts', async () => {
    const wrong = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"email":"a","password":"b"}',
    };
    const rejected: [string, RequestInit][] = [
      ['/login', wrong],
      ['/oauth/token', { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
    ];
    for (const [path, init] of rejected) {
      const { status, headers } = await app.fetch(path, init);
      expect([path, status, headers.get('www-authenticate')?.includes('resource_metadata')]).toEqual([
        path,
        401,
        false,
      ]);
    }
  });

  it('leads a client that knows only the address of the API to a token for it', async () => {
    const { id, secret } = await oauthClient(app, {
      owner: await app.account(),
      grants: ['client_credentials'],
    });
    const options = callingApp(app);
    const challenged: unknown = await oauth
      .protectedResourceRequest('unknown', 'GET', new URL(query, PUBLIC_URL), undefined, undefined, options)
      .catch((error: unknown) => error);
    if (!(challenged instanceof oauth.WWWAuthenticateChallengeError)) throw challenged;
    const named = challenged.cause[0]?.parameters.resource_metadata ?? '';
    const described = await oauth.processResourceDiscoveryResponse(
      new URL('/graphql', PUBLIC_URL),
      await options[oauth.customFetch](named),
    );
    const issuer = new URL(described.authorization_servers?.[0] ?? '');
    const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options });
    const as = await oauth.processDiscoveryResponse(issuer, found);
    const client = { client_id: id };
    const parameters = { resource: described.resource, scope: described.scopes_supported?.[0] ?? '' };
    const { access_token } = await oauth.processClientCredentialsResponse(
      as,
      client,
      await oauth.clientCredentialsGrantRequest(
        as,
        client,
        oauth.ClientSecretBasic(secret),
        parameters,
        options,
      ),
    );
    expect((await app.gql('{ posts { id } }', { key: access_token })).status).toBe(200);
  });
});
