import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { disableAccount } from '../../../src/auth/revocation.ts';
import { SCOPES } from '../../../src/auth/scopes.ts';
import { newId } from '../../../src/platform/ids.ts';
import { useApp } from '../../support/app.ts';
import {
  AUDIENCE,
  assembleToken,
  ISSUER,
  JWT_SECRET,
  newEcPair,
  newRsaPair,
  signToken,
  type TokenOptions,
} from '../../support/credentials/tokens.ts';
import { dataOf, expectForbidden } from '../../support/rejection.ts';

const rsa = newRsaPair();
const ec = newEcPair();
const app = useApp({
  settings: {
    JWT_SECRET,
    JWT_PUBLIC_KEY: `${rsa.pem}${ec.pem.replaceAll('\n', '\\n')}`,
    JWT_ISSUER: ISSUER,
    JWT_AUDIENCE: AUDIENCE,
  },
});
const VIEWER = '{ viewer { id } }';
const POSTS = '{ posts(limit: 1) { id } }';
const secondsFromNow = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;

describe('a JWT', () => {
  it.each([
    ['HS256', {}],
    ['RS256', { algorithm: 'RS256', key: rsa.privateKey }],
    ['ES256', { algorithm: 'ES256', key: ec.privateKey }],
  ] satisfies [string, TokenOptions][])('signed with %s is taken', async (_algorithm, options) => {
    const { id } = await app.account();
    expect(dataOf(await app.gql(VIEWER, { key: await signToken(id, options) })).viewer.id).toBe(id);
  });

  it('may name its audience among others, and its subject in capitals', async () => {
    const { id } = await app.account();
    const key = await signToken(id.toUpperCase(), { claims: { aud: ['elsewhere', AUDIENCE] } });
    expect(dataOf(await app.gql(VIEWER, { key })).viewer.id).toBe(id);
  });

  it('counts from nbf on and until exp', async () => {
    const { id } = await app.account();
    const key = await signToken(id, { claims: { nbf: secondsFromNow(-5), exp: secondsFromNow(60) } });
    expect((await app.gql(VIEWER, { key })).status).toBe(200);
  });
});

describe('the attacks on a JWT', () => {
  const future = { exp: Math.floor(Date.now() / 1000) + 600, role: 'admin', iss: ISSUER, aud: AUDIENCE };
  const hmac = (key: string, text: string) => createHmac('sha256', key).update(text).digest('base64url');

  const ATTACKS: [string, (sub: string) => string | Promise<string>][] = [
    ['alg: none', (sub) => assembleToken({ alg: 'none', typ: 'JWT' }, { ...future, sub })],
    ['alg: None', (sub) => assembleToken({ alg: 'None' }, { ...future, sub })],
    ['no alg', (sub) => assembleToken({ typ: 'JWT' }, { ...future, sub })],
    ['HS256 without a signature', (sub) => assembleToken({ alg: 'HS256' }, { ...future, sub })],
    [
      'HS256 signed with the RSA public key',
      (sub) => {
        const unsigned = assembleToken({ alg: 'HS256', typ: 'JWT' }, { ...future, sub }).slice(0, -1);
        return `${unsigned}.${hmac(rsa.pem, unsigned)}`;
      },
    ],
    [
      'RS256 signed with another key',
      (sub) => signToken(sub, { algorithm: 'RS256', key: newRsaPair().privateKey }),
    ],
    [
      'ES256 signed with another key',
      (sub) => signToken(sub, { algorithm: 'ES256', key: newEcPair().privateKey }),
    ],
    ['HS256 signed with another secret', (sub) => signToken(sub, { key: new Uint8Array(32).fill(7) })],
    ['HS512 with the right secret', (sub) => signToken(sub, { algorithm: 'HS512', key: new Uint8Array(64) })],
    ['PS256 with the right key', (sub) => signToken(sub, { algorithm: 'PS256', key: rsa.privateKey })],
    [
      'a key of its own in the header',
      (sub) => {
        const own = newRsaPair();
        const jwk = own.publicKey.export({ format: 'jwk' });
        return signToken(sub, { algorithm: 'RS256', key: own.privateKey, header: { jwk } });
      },
    ],
    [
      'the address of a key in the header',
      (sub) =>
        signToken(sub, {
          algorithm: 'RS256',
          key: newRsaPair().privateKey,
          header: { jku: 'http://127.0.0.1:1/jwks', x5u: 'http://127.0.0.1:1/' },
        }),
    ],
    ...['', '/dev/null', "' OR 1=1 --"].map((kid): [string, (sub: string) => string] => [
      `an empty secret and the kid "${kid}"`,
      (sub) => {
        const unsigned = assembleToken({ alg: 'HS256', kid }, { ...future, sub }).slice(0, -1);
        return `${unsigned}.${hmac('', unsigned)}`;
      },
    ]),
    ['a critical header that nobody knows', (sub) => signToken(sub, { header: { crit: ['x'], x: 1 } })],
    ['another issuer', (sub) => signToken(sub, { claims: { iss: 'https://evil.example.com' } })],
    ['no issuer', (sub) => signToken(sub, { claims: { iss: undefined } })],
    ['another audience', (sub) => signToken(sub, { claims: { aud: 'elsewhere' } })],
    ['no audience', (sub) => signToken(sub, { claims: { aud: undefined } })],
    ['expired', (sub) => signToken(sub, { claims: { exp: secondsFromNow(-1) } })],
    ['no exp', (sub) => signToken(sub, { claims: { exp: undefined } })],
    ['an exp that is no number', (sub) => signToken(sub, { claims: { exp: '9999999999' } })],
    ['nbf ahead', (sub) => signToken(sub, { claims: { nbf: secondsFromNow(60) } })],
    ['no sub', (sub) => signToken(sub, { claims: { sub: undefined } })],
    ['an unknown sub', () => signToken(newId())],
    ['a sub that is no id', () => signToken("x' OR '1'='1")],
    ['a scope that is no text', (sub) => signToken(sub, { claims: { scope: 7 } })],
    ['a list of scopes that are no texts', (sub) => signToken(sub, { claims: { scope: [7] } })],
    ['a jti that is no text', (sub) => signToken(sub, { claims: { jti: 7 } })],
    ['a jti with a NUL', (sub) => signToken(sub, { claims: { jti: 'a\0b' } })],
    [
      'a payload that was changed',
      async (sub) => {
        const [header, , signature] = (await signToken(sub)).split('.');
        return `${header}.${assembleToken({}, { ...future, sub }).split('.')[1]}.${signature}`;
      },
    ],
    ['a payload that is no JSON', () => `${assembleToken({ alg: 'HS256' }, {}).split('.')[0]}.e30x.AAAA`],
  ];

  it.each(ATTACKS)('%s: 401', async (_attack, forge) => {
    const { id } = await app.account({ role: 'admin' });
    const response = await app.gql(VIEWER, { key: await forge(id) });
    expect(response.status).toBe(401);
    expect(response.errors?.map(({ extensions }) => extensions.code)).toEqual(['UNAUTHENTICATED']);
    expect(response.headers.get('www-authenticate')).toMatch(
      /^Bearer error="invalid_token", error_description="[^"\\]+", resource_metadata="[^"\\]+"$/,
    );
  });

  it('each kind says what is wrong with it', async () => {
    const { id } = await app.account();
    const description = async (options: TokenOptions) =>
      (await app.gql(VIEWER, { key: await signToken(id, options) })).headers.get('www-authenticate');
    expect(await description({ claims: { exp: secondsFromNow(-1) } })).toContain('expired');
    expect(await description({ claims: { nbf: secondsFromNow(60) } })).toContain('not valid yet');
    expect(await description({ claims: { iss: 'x' } })).toContain('issuer');
    expect(await description({ claims: { aud: 'x' } })).toContain('audience');
    expect(await description({ key: new Uint8Array(32) })).toContain('signature');
  });

  it('a disabled account: 401', async () => {
    const { id } = await app.account();
    await disableAccount(app.database, id);
    expect((await app.gql(VIEWER, { key: await signToken(id) })).status).toBe(401);
  });

  it('in the query string or the session cookie a JWT is none', async () => {
    const { id } = await app.account();
    const token = await signToken(id);
    expect((await app.fetch(`/graphql?api_key=${token}&query=${VIEWER}`)).status).toBe(401);
    expect((await app.gql(VIEWER, { headers: { cookie: `session_id=${token}` } })).status).toBe(401);
  });
});

describe('what a JWT allows', () => {
  const EMAILS = '{ users { email } }';

  it('a role beyond the account’s holds only as far as the account has it', async () => {
    const { id } = await app.account({ role: 'member' });
    await app.account();
    expectForbidden(await app.gql(EMAILS, { key: await signToken(id, { claims: { role: 'admin' } }) }));
  });

  it('a role below the account’s holds', async () => {
    const { id } = await app.account({ role: 'admin' });
    const as = async (role: unknown) =>
      (await app.gql(EMAILS, { key: await signToken(id, { claims: { role } }) })).status;
    expect(await as('admin')).toBe(200);
    for (const role of ['member', undefined, 'root', 1]) expect(await as(role)).toBe(403);
  });

  it('scopes beyond the role’s do not hold, and unknown ones mean nothing', async () => {
    const { id } = await app.account({ role: 'member' });
    const scope = [...SCOPES, 'everything', ''].join(' ');
    const key = await signToken(id, { claims: { role: 'admin', scope } });
    expectForbidden(await app.gql(EMAILS, { key }));
    expect((await app.gql(POSTS, { key })).status).toBe(200);
  });

  it('with a scope claim it has those scopes, and with an empty one none', async () => {
    const { id } = await app.account();
    const read = await signToken(id, { claims: { scope: 'posts:read' } });
    expect((await app.gql(POSTS, { key: read })).status).toBe(200);
    expectForbidden(await app.gql('mutation { createPost(title: "T", body: "B") { id } }', { key: read }));
    expectForbidden(await app.gql(POSTS, { key: await signToken(id, { claims: { scope: '' } }) }));
  });
});

describe('the rate limit of a JWT', () => {
  const limited = useApp({
    settings: { JWT_SECRET, RATE_LIMIT_BURST: '2', RATE_LIMIT_PER_SECOND: '0.001' },
  });

  it('is that of its user, however many tokens there are', async () => {
    const { id } = await limited.account();
    const call = async () =>
      (await limited.gql(POSTS, { key: await signToken(id, { claims: { jti: newId() } }) })).status;
    expect([await call(), await call(), await call()]).toEqual([200, 200, 429]);
  });
});
