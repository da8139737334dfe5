import { createHmac, createPrivateKey } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/platform/uuid.ts';
import { askToken } from '../support/credentials/oauth.ts';
import {
  AUDIENCE,
  assembleToken,
  ISSUER,
  newEcPair,
  newRsaPair,
  signToken,
} from '../support/credentials/tokens.ts';
import { deployment, graphql, service } from './support/attacker.ts';

const { ada, admin, grace, machine, rsa, origin } = deployment;
const VIEWER = '{ viewer { id } }';
const IN_TEN_MINUTES = Math.floor(Date.now() / 1000) + 600;
const AN_HOUR_AGO = IN_TEN_MINUTES - 4_200;
const claims = { sub: admin.id, role: 'admin', iss: ISSUER, aud: AUDIENCE, exp: IN_TEN_MINUTES };
const hmac = (key: string, text: string) => createHmac('sha256', key).update(text).digest('base64url');

function hmacWith(key: string, header: object): string {
  const unsigned = assembleToken(header, claims).slice(0, -1);
  return `${unsigned}.${hmac(key, unsigned)}`;
}

let access = '';
beforeAll(async () => {
  const answer = await askToken(service, machine, { grant_type: 'client_credentials' });
  access = answer.body.access_token;
});

/** The service's own access token, with other parts. */
function changed(header: object, payload: object): string {
  return assembleToken(
    { ...decodeProtectedHeader(access), ...header },
    { ...decodeJwt(access), ...payload },
    access.split('.')[2],
  );
}

/** The same, signed by somebody else under the service's kid. */
function resigned(header: object, payload: object = {}): Promise<string> {
  const protectedHeader = { ...decodeProtectedHeader(access), alg: 'ES256', ...header };
  return new SignJWT({ ...decodeJwt(access), ...payload })
    .setProtectedHeader(protectedHeader)
    .sign(newEcPair().privateKey);
}

type Forgery = readonly [attack: string, rule: string, forge: () => string | Promise<string>];

const FORGERIES: readonly Forgery[] = [
  ['alg: none', 'RFC 8725 section 2.1', () => assembleToken({ alg: 'none' }, claims)],
  ['alg: nOnE', 'RFC 8725 section 2.1', () => assembleToken({ alg: 'nOnE' }, claims)],
  ['no alg', 'RFC 7515 section 4.1.1', () => assembleToken({ typ: 'JWT' }, claims)],
  ['no signature', 'RFC 7515 section 5.2', () => assembleToken({ alg: 'HS256' }, claims)],
  ['the public key as a secret', 'RFC 8725 section 2.1', () => hmacWith(rsa.publicKey, { alg: 'HS256' })],
  ['an empty secret', 'RFC 8725 section 3.5', () => hmacWith('', { alg: 'HS256' })],
  ['a kid that is a path', 'RFC 8725 section 3.10', () => hmacWith('', { alg: 'HS256', kid: '/dev/null' })],
  ['a kid that is SQL', 'RFC 8725 section 3.10', () => hmacWith('x', { alg: 'HS256', kid: "' OR 1=1 --" })],
  [
    'another RSA key',
    'RFC 7515 section 5.2',
    () => signToken(admin.id, { algorithm: 'RS256', key: newRsaPair().privateKey }),
  ],
  [
    'the right key with PS256',
    'contract section 3',
    () => signToken(admin.id, { algorithm: 'PS256', key: createPrivateKey(rsa.privateKey) }),
  ],
  [
    'the right secret with HS512',
    'contract section 3',
    () => signToken(admin.id, { algorithm: 'HS512', key: new Uint8Array(64) }),
  ],
  [
    'a key in its header',
    'RFC 8725 section 3.10',
    () => {
      const own = newRsaPair();
      const jwk = own.publicKey.export({ format: 'jwk' });
      return signToken(admin.id, { algorithm: 'RS256', key: own.privateKey, header: { jwk } });
    },
  ],
  [
    'the address of a key in its header',
    'RFC 8725 section 3.10',
    () => {
      const header = { jku: 'http://127.0.0.1:1/jwks', x5u: 'http://127.0.0.1:1/' };
      return signToken(admin.id, { algorithm: 'RS256', key: newRsaPair().privateKey, header });
    },
  ],
  [
    'a critical header',
    'RFC 7515 section 4.1.11',
    () => signToken(admin.id, { header: { crit: ['x'], x: 1 } }),
  ],
  ['expired', 'RFC 7519 section 4.1.4', () => signToken(admin.id, { claims: { exp: AN_HOUR_AGO } })],
  ['no exp', 'contract section 3', () => signToken(admin.id, { claims: { exp: undefined } })],
  ['not valid yet', 'RFC 7519 section 4.1.5', () => signToken(admin.id, { claims: { nbf: IN_TEN_MINUTES } })],
  ['another issuer', 'RFC 8725 section 3.8', () => signToken(admin.id, { claims: { iss: origin } })],
  [
    'another audience',
    'RFC 8725 section 3.9',
    () => signToken(admin.id, { claims: { aud: `${origin}/graphql` } }),
  ],
  ['an unknown subject', 'contract section 3', () => signToken(newId())],
  ['a subject that is SQL', 'contract section 3', () => signToken("x' OR '1'='1")],
  ['an access token with another subject', 'RFC 7515 section 5.2', () => changed({}, { sub: grace.id })],
  ['an access token without alg', 'RFC 8725 section 2.1', () => changed({ alg: 'none' }, {})],
  ['an access token of another type', 'RFC 9068 section 4', () => changed({ typ: 'JWT' }, {})],
  ['an access token by another key', 'RFC 7515 section 5.2', () => resigned({})],
  [
    'an access token by another key and kid',
    'RFC 8725 section 3.10',
    () => resigned({ kid: '../../etc/passwd' }),
  ],
  ['an access token for a user by another key', 'RFC 9068 section 4', () => resigned({}, { sub: admin.id })],
  ['an API key cut short', 'contract section 3', () => ada.key.slice(0, -1)],
  ['an API key in other letters', 'contract section 3', () => ada.key.toUpperCase()],
  ['two API keys', 'RFC 6750 section 2.1', () => `${ada.key} ${admin.key}`],
];

describe('a forged token is 401, and nothing is executed', () => {
  it.each(FORGERIES)('%s (%s)', async (_attack, _rule, forge) => {
    const answer = await graphql(VIEWER, { authorization: `Bearer ${await forge()}` });
    expect([answer.status, answer.codes, answer.data?.viewer]).toEqual([401, ['UNAUTHENTICATED'], undefined]);
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
  });
});

describe('a good token', () => {
  const as = async (token: string) =>
    (await graphql(VIEWER, { authorization: `Bearer ${token}` })).data?.viewer.id;

  it('is let in by the same way, so that the attacks are refused for what they are', async () => {
    expect(await as(await signToken(admin.id))).toBe(admin.id);
    expect(
      await as(await signToken(admin.id, { algorithm: 'RS256', key: createPrivateKey(rsa.privateKey) })),
    ).toBe(admin.id);
    expect(await as(access)).toBe(ada.id);
    expect(await as(ada.key)).toBe(ada.id);
  });

  it('of a member is a member’s, whatever role it claims (contract section 3)', async () => {
    const token = await signToken(ada.id, { claims: { role: 'admin' } });
    const answer = await graphql('{ users { email } }', { authorization: `Bearer ${token}` });
    expect([answer.status, answer.codes.at(0)]).toEqual([403, 'FORBIDDEN']);
  });

  it('beside another one of its kind is none (contract section 3)', async () => {
    const query = encodeURIComponent(VIEWER);
    for (const keys of [`api_key=${ada.key}&api_key=${ada.key}`, `api_key=${ada.key}&api%5Fkey=nonsense`])
      expect((await service.fetch(`/graphql?query=${query}&${keys}`)).status).toBe(401);
    const cookie = 'session_id=x; session_id=y';
    expect((await service.fetch(`/graphql?query=${query}`, { headers: { cookie } })).status).toBe(401);
  });

  it('does not make up for a bad one that counts before it (contract section 3)', async () => {
    const query = encodeURIComponent(VIEWER);
    const bad = { authorization: 'Bearer nonsense' };
    expect((await service.fetch(`/graphql?query=${query}&api_key=${ada.key}`, { headers: bad })).status).toBe(
      401,
    );
    expect(
      (
        await service.fetch(`/graphql?query=${query}&api_key=nonsense`, {
          headers: { cookie: 'session_id=x' },
        })
      ).status,
    ).toBe(401);
  });
});
