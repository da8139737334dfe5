import * as oauth from 'oauth4webapi';
import { beforeAll, describe, expect, it } from 'vitest';
import { ORIGIN, useApp } from '../../support/app.ts';
import {
  authorizeClient,
  authorizeUrl,
  Browser,
  basic,
  oauthClient,
  PKCE,
  postForm,
  REDIRECT_URI,
  type TestClient,
} from '../../support/credentials/oauth.ts';
import { callingApp } from '../../support/credentials/oauth-application.ts';
import { type Person, person } from '../../support/credentials/session.ts';

const app = useApp();
const OPTIONS = callingApp(app);

let user: Person;
let client: TestClient;
beforeAll(async () => {
  user = await person(app);
  client = await oauthClient(app, {
    owner: await app.account(),
    grants: ['authorization_code', 'refresh_token', 'client_credentials'],
  });
});

/** Parameters of OpenID Connect, and some that no specification has. */
const UNKNOWN: Readonly<Record<string, string>> = {
  nonce: 'n-0S6_WzA2Mj',
  max_age: '3600',
  id_token_hint: 'eyJhbGciOiJub25lIn0.e30.',
  acr_values: 'urn:mace:incommon:iap:silver',
  claims_locales: 'de',
  claims: '{"id_token":{"email":null}}',
  ui_locales: 'de',
  display: 'popup',
  audience: 'https://api.example.com',
  access_type: 'offline',
  utm_source: 'newsletter',
  constructor: 'x',
};

async function discover(): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(ORIGIN);
  const response = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...OPTIONS });
  return oauth.processDiscoveryResponse(issuer, response);
}

describe('unknown parameters', () => {
  it.each([...Object.entries(UNKNOWN), ['max_age', '0'], ['max_age', 'soon'], ['nonce', 'n'.repeat(3_000)]])(
    'are ignored at /oauth/authorize: %s',
    async (name, value) => {
      const { challenge } = PKCE();
      const { response, left } = await new Browser(app).open(
        authorizeUrl(client, { challenge, extra: { [name]: value } }),
      );
      expect(left?.href).toBeUndefined();
      expect(await response.text()).toContain('name="password"');
    },
  );

  it('are ignored at every endpoint by which oauth4webapi gets, renews, introspects and revokes tokens', async () => {
    const [as, own] = [await discover(), { client_id: client.id }];
    const authentication = oauth.ClientSecretBasic(client.secret);
    const additionalParameters = new URLSearchParams(UNKNOWN);
    const options = { ...OPTIONS, additionalParameters };
    const { code, verifier } = await authorizeClient(app, client, user, { extra: UNKNOWN });
    const callback = new URLSearchParams({ code, state: 'the-state', iss: ORIGIN });
    const checked = oauth.validateAuthResponse(as, own, callback, 'the-state');
    const tokens = await oauth.processAuthorizationCodeResponse(
      as,
      own,
      await oauth.authorizationCodeGrantRequest(
        as,
        own,
        authentication,
        checked,
        REDIRECT_URI,
        verifier,
        options,
      ),
    );
    const renewed = await oauth.processRefreshTokenResponse(
      as,
      own,
      await oauth.refreshTokenGrantRequest(as, own, authentication, tokens.refresh_token ?? '', options),
    );
    const introspect = async () =>
      oauth.processIntrospectionResponse(
        as,
        own,
        await oauth.introspectionRequest(as, own, authentication, renewed.access_token, options),
      );
    expect(await introspect()).toMatchObject({ active: true, sub: user.id });
    await oauth.processRevocationResponse(
      await oauth.revocationRequest(as, own, authentication, renewed.access_token, options),
    );
    expect(await introspect()).toEqual({ active: false });
    const alone = await oauth.clientCredentialsGrantRequest(
      as,
      own,
      authentication,
      additionalParameters,
      OPTIONS,
    );
    expect(await oauth.processClientCredentialsResponse(as, own, alone)).toMatchObject({ expires_in: 900 });
  });
});

describe('a known parameter that occurs twice is invalid_request', () => {
  it.each([
    'response_type',
    'client_id',
    'redirect_uri',
    'scope',
    'state',
    'code_challenge',
    'code_challenge_method',
    'prompt',
    'login_hint',
    'nonce',
    'max_age',
    'id_token_hint',
    'acr_values',
    'claims_locales',
  ])('at /oauth/authorize: %s', async (name) => {
    const { challenge } = PKCE();
    const extra = { [name]: undefined };
    const url = authorizeUrl(client, { challenge, scope: 'posts:read', extra });
    const given = new URL(authorizeUrl(client, { challenge, scope: 'posts:read' }), ORIGIN).searchParams;
    const value = encodeURIComponent(given.get(name) ?? '1');
    const { response, left } = await new Browser(app).open(`${url}&${name}=${value}&${name}=${value}`);
    const error =
      left?.searchParams.get('error') ?? /Technical details: (\w+)/.exec(await response.text())?.[1];
    expect(error).toBe('invalid_request');
  });

  it.each([
    ['/oauth/token', 'grant_type=client_credentials', 'grant_type'],
    ['/oauth/token', 'grant_type=client_credentials&scope=posts:read', 'scope'],
    ['/oauth/introspect', 'token=x', 'token'],
    ['/oauth/introspect', 'token=x&token_type_hint=access_token', 'token_type_hint'],
    ['/oauth/revoke', 'token=x', 'token'],
    ['/oauth/revoke', 'token=x&token_type_hint=access_token', 'token_type_hint'],
  ])('at %s with %s: %s', async (path, form, name) => {
    expect((await postForm(app, path, form, basic(client))).status).toBe(200);
    const twice = `${form}&${name}=${new URLSearchParams(form).get(name)}`;
    expect(await postForm(app, path, twice, basic(client))).toMatchObject({
      status: 400,
      body: { error: 'invalid_request' },
    });
  });
});
