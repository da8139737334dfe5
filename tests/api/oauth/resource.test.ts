import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { ORIGIN, useApp } from '../../support/app.ts';
import {
  askToken,
  authorizeClient,
  authorizeUrl,
  Browser,
  basic,
  exchangeCode,
  oauthClient,
  PKCE,
  postForm,
  REDIRECT_URI,
  type TestClient,
} from '../../support/credentials/oauth.ts';
import { type Person, person } from '../../support/credentials/session.ts';

const app = useApp();
const ELSEWHERE = 'https://elsewhere.example/graphql';

let user: Person;
let client: TestClient;
beforeAll(async () => {
  user = await person(app);
  client = await oauthClient(app, { owner: await app.account() });
});

const authorize = () => authorizeClient(app, client, user);
const post = (body: string) => postForm(app, '/oauth/token', body, basic(client));

/** Ways to ask for tokens for another resource than the one there is (RFC 8707 section 2). */
const WRONG: [string, string][] = [
  ['by its name', `resource=${encodeURIComponent(ELSEWHERE)}`],
  ['by its name in another spelling', `%72es%6Furce=${encodeURIComponent(ELSEWHERE)}`],
  ['beside the right one', `resource=${encodeURIComponent(`${ORIGIN}/graphql`)}&resource=urn:x`],
  ['by what is no address', 'resource=nonsense'],
  ['by an address with a fragment', `resource=${encodeURIComponent(`${ORIGIN}/graphql#x`)}`],
  ['by an address that is nearly right', `resource=${encodeURIComponent(`${ORIGIN}/graphql/`)}`],
];

describe.each(WRONG)('a wrong resource, asked for %s', (_how, resource) => {
  it('is invalid_target, and leaves the code as it was', async () => {
    const got = await authorize();
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      code: got.code,
      redirect_uri: REDIRECT_URI,
      code_verifier: got.verifier,
    });
    for (const body of [`${form}&${resource}`, `${resource}&${form}`])
      expect(await post(body)).toMatchObject({ status: 400, body: { error: 'invalid_target' } });
    expect((await exchangeCode(app, client, got)).status).toBe(200);
  });

  it('is invalid_target, and leaves the refresh token and its family as they were', async () => {
    const { body } = await exchangeCode(app, client, await authorize());
    const form = `grant_type=refresh_token&refresh_token=${body.refresh_token}`;
    expect(await post(`${form}&${resource}`)).toMatchObject({
      status: 400,
      body: { error: 'invalid_target' },
    });
    const refreshed = await post(form);
    expect(refreshed.status).toBe(200);
    // What is used twice still ends its family.
    expect((await post(form)).body.error).toBe('invalid_grant');
    const newest = `grant_type=refresh_token&refresh_token=${refreshed.body.refresh_token}`;
    expect((await post(newest)).body.error).toBe('invalid_grant');
  });

  it('is invalid_target at the authorization endpoint too', async () => {
    const { challenge } = PKCE();
    const { left } = await new Browser(app).open(`${authorizeUrl(client, { challenge })}&${resource}`);
    expect(left?.searchParams.get('error')).toBe('invalid_target');
  });
});

it.each(['', `${ORIGIN}/graphql`, ORIGIN, `${ORIGIN}/`])(
  'the one resource, named "%s", is the default',
  async (resource) => {
    const got = await authorize();
    const { status, body } = await exchangeCode(app, client, got, { resource });
    expect(status).toBe(200);
    const fields = { grant_type: 'refresh_token', refresh_token: body.refresh_token, resource };
    expect((await askToken(app, client, fields)).status).toBe(200);
  },
);

it('whatever else a refresh is asked with: it gives tokens, or leaves the refresh token as it was', async () => {
  const { body } = await exchangeCode(app, client, await authorize());
  let token: string = body.refresh_token;
  const names = ['resource', 'scope', 'redirect_uri', 'code', 'code_verifier', 'state', 'dpop_jkt', 'claims'];
  const more = 'authorization_details client_id token audience requested_token_type resource[]'.split(' ');
  const values = fc.oneof(
    fc.constantFrom(
      '',
      ' ',
      'posts:read',
      'posts:read users:read',
      'users:email',
      'openid',
      '[{}]',
      '\0',
      client.id,
    ),
    fc.constantFrom(ELSEWHERE, ORIGIN, `${ORIGIN}/graphql`, 'urn:content-graph-api', 'x#y'),
    fc.string({ unit: 'binary', maxLength: 20 }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom(...names, ...more), values), { maxLength: 4 }),
      async (pairs) => {
        const form = new URLSearchParams(pairs.map(([name, value]) => [name, value.toWellFormed()]));
        const response = await post(`grant_type=refresh_token&refresh_token=${token}&${form}`);
        if (response.status === 200) {
          token = response.body.refresh_token;
          return;
        }
        const again = await post(`grant_type=refresh_token&refresh_token=${token}`);
        expect(again.status, `${form}: ${JSON.stringify(response.body)}`).toBe(200);
        token = again.body.refresh_token;
      },
    ),
    { numRuns: 60 },
  );
});
