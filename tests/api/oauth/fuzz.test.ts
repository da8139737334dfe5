import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import {
  authorizeClient,
  Browser,
  basic,
  exchangeCode,
  oauthClient,
  PKCE,
  REDIRECT_URI,
  type TestClient,
} from '../../support/credentials/oauth.ts';
import { person } from '../../support/credentials/session.ts';
import { leaksIn } from '../../support/schema/closed-set.ts';

const app = useApp({ settings: { LOG_LEVEL: 'debug' } });
const RUNS = 300;

let confidential: TestClient;
let open: TestClient;
let tokens: string[] = [];
beforeAll(async () => {
  const user = await person(app);
  confidential = await oauthClient(app, {
    owner: user,
    grants: ['authorization_code', 'refresh_token', 'client_credentials'],
  });
  open = await oauthClient(app, { owner: user, public: true });
  const got = await authorizeClient(app, confidential, user);
  const { body } = await exchangeCode(app, confidential, got);
  tokens = [body.access_token, body.refresh_token, got.code, got.verifier];
});

const NAMES = [
  'grant_type',
  'client_id',
  'client_secret',
  'code',
  'redirect_uri',
  'code_verifier',
  'refresh_token',
  'scope',
  'resource',
  'token',
  'token_type_hint',
  'response_type',
  'response_mode',
  'code_challenge',
  'code_challenge_method',
  'state',
  'nonce',
  'prompt',
  'max_age',
  'display',
  'claims',
  'request',
  'request_uri',
  'registration',
  'id_token_hint',
  'login_hint',
  'ui_locales',
  'acr_values',
  'authorization_details',
  'dpop_jkt',
  'client_assertion',
  'client_assertion_type',
  '__proto__',
  'constructor',
  'toString',
];

/** Values that mean something somewhere, and values that mean nothing. */
const value = () =>
  fc.oneof(
    fc.constantFrom(
      'authorization_code',
      'client_credentials',
      'refresh_token',
      'code',
      'token',
      'none',
      'S256',
      'plain',
      'query',
      'fragment',
      'form_post',
      'web_message',
      'login',
      'consent',
      'posts:read users:read',
      'openid offline_access',
      '',
      ' ',
      '\0',
      '\u{1f600}',
      '\ud800',
      '-1',
      '{}',
      '[]',
      'urn:content-graph-api',
      'http://127.0.0.1:4000/graphql',
      'eyJhbGciOiJub25lIn0.e30.',
      'access_token',
      REDIRECT_URI,
      PKCE().challenge,
    ),
    fc.nat({ max: 3 }).map((index) => tokens[index] ?? ''),
    fc.constantFrom(0, 1).map((index) => (index === 0 ? confidential.id : open.id)),
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.webUrl(),
  );
const fields = () => fc.array(fc.tuple(fc.constantFrom(...NAMES), value()), { maxLength: 12 });
const encoded = (pairs: [string, string][]) =>
  pairs.map(([name, text]) => `${name}=${encodeURIComponent(text.toWellFormed())}`).join('&');
const query = () =>
  fc.oneof(
    { weight: 4, arbitrary: fields().map(encoded) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
  );

function expectClean(status: number, text: string, sent: string): void {
  expect(status, text).toBeLessThan(500);
  expect(leaksIn(text, sent), text).toEqual([]);
  if (!sent.includes('undefined')) expect(text).not.toContain('undefined');
}

describe('whatever is posted to', () => {
  it.each(['/oauth/token', '/oauth/revoke', '/oauth/introspect'])(
    '%s, the answer is none of a failure',
    async (path) => {
      await fc.assert(
        fc.asyncProperty(query(), fc.boolean(), async (body, withSecret) => {
          const response = await app.fetch(path, {
            method: 'POST',
            headers: {
              'content-type': 'application/x-www-form-urlencoded',
              ...(withSecret ? basic(confidential) : {}),
            },
            body,
          });
          const text = await response.text();
          expectClean(response.status, text, body);
          if (response.status >= 400) expect(JSON.parse(text)).toHaveProperty('error');
        }),
        { numRuns: RUNS },
      );
    },
  );

  it('a page of a sign-in, neither', async () => {
    const browser = new Browser(app);
    const { response } = await browser.open(
      `/oauth/authorize?${new URLSearchParams({ response_type: 'code', client_id: confidential.id, redirect_uri: REDIRECT_URI, code_challenge: PKCE().challenge, code_challenge_method: 'S256' })}`,
    );
    const action = /action="([^"]+)\/login"/.exec(await response.text())?.[1] ?? '';
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('login', 'allow'),
        fc.array(fc.tuple(fc.constantFrom('email', 'account', 'x'), value())),
        async (step, pairs) => {
          const answer = await browser.fetch(`${action}/${step}`, {
            method: 'POST',
            headers: { 'content-type': 'application/x-www-form-urlencoded' },
            body: encoded(pairs),
          });
          expectClean(answer.status, '', '');
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe('whatever /oauth/authorize is asked', () => {
  it('it goes nowhere but to the client, and fails never', async () => {
    const good = { client_id: '', redirect_uri: REDIRECT_URI, response_type: 'code' };
    await fc.assert(
      fc.asyncProperty(query(), fc.boolean(), async (text, withGood) => {
        const rest = withGood
          ? `${new URLSearchParams({ ...good, client_id: confidential.id, code_challenge: PKCE().challenge, code_challenge_method: 'S256' })}&${text}`
          : text;
        const address = `/oauth/authorize?${rest}`;
        if (!URL.canParse(address, 'http://127.0.0.1')) return;
        const response = await app.fetch(address, { redirect: 'manual' });
        const page = await response.text();
        expectClean(response.status, page.replaceAll(/value="[^"]*"/g, ''), rest);
        const location = response.headers.get('location');
        if (location !== null)
          expect(location.startsWith('/oauth/') || location.startsWith(REDIRECT_URI), location).toBe(true);
      }),
      { numRuns: RUNS },
    );
  });
});

describe('whatever the Authorization header of a client is', () => {
  it('the answer is none of a failure', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('Basic', 'basic', 'Bearer', 'Digest', ''),
        fc.oneof(
          fc.string().map((text) => Buffer.from(text).toString('base64')),
          fc.string({ unit: 'grapheme-ascii' }),
          fc.constant(Buffer.from(`${'%zz'}:%00`).toString('base64')),
        ),
        async (scheme, credentials) => {
          const response = await app.fetch('/oauth/token', {
            method: 'POST',
            headers: {
              'content-type': 'application/x-www-form-urlencoded',
              authorization: `${scheme} ${credentials}`.trim(),
            },
            body: 'grant_type=client_credentials',
          });
          const text = await response.text();
          expectClean(response.status, text, credentials);
          expect(JSON.parse(text)).toHaveProperty('error');
        },
      ),
      { numRuns: RUNS },
    );
  });
});
