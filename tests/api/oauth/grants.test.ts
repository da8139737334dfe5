import { beforeAll, describe, expect, it } from 'vitest';
import { disableAccount } from '../../../src/auth/revocation.ts';
import { scopesOfRole } from '../../../src/auth/scopes.ts';
import { deleteOAuthClient } from '../../../src/features/oauth/clients.ts';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import {
  askToken,
  authorizeClient,
  basic,
  exchangeCode,
  oauthClient,
  postForm,
  statusWith,
  type TestClient,
} from '../../support/credentials/oauth.ts';
import { freshCookie, gqlAs, person } from '../../support/credentials/session.ts';
import { dataOf } from '../../support/rejection.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { readEventStream } from '../../support/streams/event-stream.ts';
import { clockOf } from '../../support/time/stepped-clock.ts';

/** A clock that can be put forward: what is cached for less than a second is out of date then. */
let aheadMs = 0;
const clock = clockOf(() => Date.now() + aheadMs);
const app = useApp({ clock, settings: { CREDENTIAL_RECHECK_MS: '50' } });
const aSecondLater = () => {
  aheadMs += 1_000;
};

interface Granted {
  readonly user: { readonly id: string; readonly email: string; readonly password: string };
  readonly owner: { readonly id: string };
  readonly client: TestClient;
  readonly access: string;
  readonly refresh: string;
}

async function granted(name = 'Reader'): Promise<Granted> {
  const user = await person(app);
  const owner = await app.account();
  const client = await oauthClient(app, { owner, name });
  const { body } = await exchangeCode(app, client, await authorizeClient(app, client, user));
  return { user, owner, client, access: body.access_token, refresh: body.refresh_token };
}

const GRANTS = '{ viewer { oauthGrants { id clientId clientName scopes createdAt lastUsedAt } } }';
const REVOKE = 'mutation ($id: ID!) { revokeGrant(id: $id) }';
const grantsOf = async (cookie: string) => dataOf(await gqlAs(app, cookie, GRANTS)).viewer.oauthGrants;
const revoke = async (cookie: string, id: string) =>
  dataOf(await gqlAs(app, cookie, REVOKE, { variables: { id } })).revokeGrant;
const refreshed = ({ client, refresh }: Granted) =>
  askToken(app, client, { grant_type: 'refresh_token', refresh_token: refresh });

describe('User.oauthGrants', () => {
  it('lists what the viewer has allowed, and nobody else’s', async () => {
    const { user, client, access } = await granted('Post Reader');
    await granted();
    const cookie = await freshCookie(app, user.email);
    const listed = {
      id: expect.any(String),
      clientId: client.id,
      clientName: 'Post Reader',
      scopes: scopesOfRole('member'),
      createdAt: expect.stringMatching(/Z$/),
      lastUsedAt: null,
    };
    expect(await grantsOf(cookie)).toEqual([listed]);
    expect(await statusWith(app, access)).toBe(200);
    await expect
      .poll(() => grantsOf(cookie))
      .toEqual([{ ...listed, lastUsedAt: expect.stringMatching(/Z$/) }]);
  });

  it('has one entry a client, however often it is allowed', async () => {
    const { user, client } = await granted();
    await authorizeClient(app, client, user, { scope: 'posts:read' });
    expect(await grantsOf(await freshCookie(app, user.email))).toHaveLength(1);
  });
});

describe('Mutation.revokeGrant', () => {
  it('ends every token of the client for the account within a second', async () => {
    const one = await granted();
    const other = await granted();
    const { body } = await exchangeCode(app, one.client, await authorizeClient(app, one.client, one.user));
    const cookie = await freshCookie(app, one.user.email);
    const [{ id }] = await grantsOf(cookie);
    expect(await statusWith(app, one.access)).toBe(200);
    expect(await revoke(cookie, id)).toBe(true);
    expect(await revoke(cookie, id)).toBe(false);
    aSecondLater();
    for (const token of [one.access, body.access_token]) expect(await statusWith(app, token)).toBe(401);
    expect((await refreshed(one)).body.error).toBe('invalid_grant');
    expect(await statusWith(app, other.access)).toBe(200);
    expect(await grantsOf(cookie)).toEqual([]);
  });

  it('does nothing to somebody else’s', async () => {
    const one = await granted();
    const mine = await freshCookie(app, (await granted()).user.email);
    const [{ id }] = await grantsOf(await freshCookie(app, one.user.email));
    expect(await revoke(mine, id)).toBe(false);
    expect((await refreshed(one)).status).toBe(200);
  });

  it('has the user asked again', async () => {
    const { user, client } = await granted();
    const cookie = await freshCookie(app, user.email);
    const [{ id }] = await grantsOf(cookie);
    await revoke(cookie, id);
    await authorizeClient(app, client, user);
    const [again] = await grantsOf(cookie);
    expect(again.id).not.toBe(id);
  });
});

/** Each way in which the tokens of a client can end before their time. */
const ENDS: readonly [string, (tokens: Granted) => Promise<unknown>][] = [
  ['its user is disabled', ({ user }) => disableAccount(app.database, user.id)],
  ['its client’s owner is disabled', ({ owner }) => disableAccount(app.database, owner.id)],
  ['its client is deleted', ({ client }) => deleteOAuthClient(app.database, client.id)],
  [
    'the grant is revoked',
    async ({ user }) => {
      const cookie = await freshCookie(app, user.email);
      const [{ id }] = await grantsOf(cookie);
      return revoke(cookie, id);
    },
  ],
  [
    'the refresh token is revoked',
    ({ client, refresh }) => postForm(app, '/oauth/revoke', { token: refresh }, basic(client)),
  ],
  [
    'it is revoked itself',
    ({ client, access }) => postForm(app, '/oauth/revoke', { token: access }, basic(client)),
  ],
];

describe.each(ENDS)('an access token, once %s,', (how, end) => {
  it('is rejected on every instance within a second', async () => {
    const tokens = await granted();
    const other = secondInstance(app, { clock });
    expect([await statusWith(app, tokens.access), await statusWith(other, tokens.access)]).toEqual([
      200, 200,
    ]);
    await end(tokens);
    aSecondLater();
    expect([await statusWith(app, tokens.access), await statusWith(other, tokens.access)]).toEqual([
      401, 401,
    ]);
    const { status } = await refreshed(tokens);
    expect(status).toBe(how === 'it is revoked itself' ? 200 : how.startsWith('its client') ? 401 : 400);
  });

  it('ends its event streams, with one last UNAUTHENTICATED', async () => {
    const tokens = await granted();
    const writer = await app.account();
    const query = encodeURIComponent('subscription { postCreated { id } }');
    const response = await app.fetch(`/graphql?query=${query}`, {
      headers: { accept: 'text/event-stream', authorization: `Bearer ${tokens.access}` },
    });
    expect(response.status).toBe(200);
    const stream = readEventStream(response);
    const id = await createPost(app, writer.key);
    expect((await stream.next()).data.postCreated.id).toBe(id);
    await end(tokens);
    const { errors } = await stream.next();
    expect(errors[0].extensions.code).toBe('UNAUTHENTICATED');
    expect((await stream.event())?.event).toBe('complete');
  });
});

describe('a token of a client alone', () => {
  it.each([
    ['the client is deleted', (id: string) => deleteOAuthClient(app.database, id)],
    ['its owner is disabled', (_id: string, owner: string) => disableAccount(app.database, owner)],
  ])('is rejected once %s, and there are no new ones', async (_how, end) => {
    const owner = await app.account();
    const client = await oauthClient(app, { owner, grants: ['client_credentials'] });
    const { body } = await askToken(app, client, { grant_type: 'client_credentials' });
    expect(await statusWith(app, body.access_token)).toBe(200);
    await end(client.id, owner.id);
    aSecondLater();
    expect(await statusWith(app, body.access_token)).toBe(401);
    expect((await askToken(app, client, { grant_type: 'client_credentials' })).status).toBe(401);
  });
});

describe('introspection and revocation', () => {
  let tokens: Granted;
  let stranger: TestClient;
  beforeAll(async () => {
    tokens = await granted();
    stranger = await oauthClient(app, { owner: await app.account() });
  });
  const introspect = (token: string, by: TestClient) =>
    postForm(app, '/oauth/introspect', { token }, basic(by));

  it('tell a client of its own tokens', async () => {
    const { user, client, access, refresh } = tokens;
    expect((await introspect(access, client)).body).toMatchObject({
      active: true,
      client_id: client.id,
      sub: user.id,
      scope: scopesOfRole('member').join(' '),
      token_type: 'Bearer',
    });
    expect((await introspect(refresh, client)).body).toMatchObject({ active: true, client_id: client.id });
  });

  it('tell nothing of other tokens, and end none', async () => {
    const { client, access, refresh } = tokens;
    for (const token of [access, refresh, 'nonsense', `${access.slice(0, -5)}AAAAA`]) {
      expect(await introspect(token, stranger)).toMatchObject({ status: 200, body: { active: false } });
      expect((await postForm(app, '/oauth/revoke', { token }, basic(stranger))).status).toBe(200);
    }
    expect((await introspect(access, client)).body.active).toBe(true);
    expect((await introspect(refresh, client)).body.active).toBe(true);
  });

  it('are for clients that prove who they are', async () => {
    const publicClient = await oauthClient(app, { owner: await app.account(), public: true });
    for (const token of [tokens.access, tokens.refresh]) {
      const asked = await postForm(app, '/oauth/introspect', { token, client_id: publicClient.id });
      expect([asked.status, asked.body.error]).toEqual([401, 'invalid_client']);
      expect(asked.headers.get('www-authenticate')).toContain('Basic');
      for (const path of ['/oauth/introspect', '/oauth/revoke']) {
        expect((await postForm(app, path, { token })).body.error).toBe('invalid_client');
        const wrong = basic({ ...tokens.client, secret: stranger.secret });
        expect((await postForm(app, path, { token }, wrong)).body.error).toBe('invalid_client');
      }
    }
    expect(await statusWith(app, tokens.access)).toBe(200);
  });

  it('end a public client’s tokens when it asks', async () => {
    const user = await person(app);
    const client = await oauthClient(app, { owner: user, public: true });
    const { body } = await exchangeCode(app, client, await authorizeClient(app, client, user));
    const form = { token: body.access_token, client_id: client.id };
    expect((await postForm(app, '/oauth/revoke', form)).status).toBe(200);
    aSecondLater();
    expect(await statusWith(app, body.access_token)).toBe(401);
  });

  it('know that a token has ended', async () => {
    const { client, access, refresh } = await granted();
    await postForm(app, '/oauth/revoke', { token: refresh, token_type_hint: 'access_token' }, basic(client));
    for (const token of [access, refresh])
      expect((await introspect(token, client)).body).toEqual({ active: false });
  });

  it('know that a token’s account is disabled', async () => {
    const { client, user, access, refresh } = await granted();
    await disableAccount(app.database, user.id);
    for (const token of [access, refresh])
      expect((await introspect(token, client)).body).toEqual({ active: false });
  });
});
