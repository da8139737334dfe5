import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { SCOPES } from '../../../src/auth/scopes.ts';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { problemsOf } from './problems-of.ts';

const pem = (key: { export(options: { type: 'spki'; format: 'pem' }): string | Buffer }) =>
  key.export({ type: 'spki', format: 'pem' }).toString();
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const LONG = 'k3JxQm8vZr1TnPd5Wy7LbC0hGfS2aUeI';
const PRODUCTION = {
  NODE_ENV: 'production',
  DATA_DIR: '/srv/data',
  SECRET_KEY: LONG,
  PUBLIC_URL: 'https://api.example.com',
};

describe('JWT_PUBLIC_KEY', () => {
  it.each([
    ['an RSA key', pem(rsa.publicKey)],
    ['an EC key on P-256', pem(ec.publicKey)],
    ['several', pem(rsa.publicKey) + pem(ec.publicKey)],
    ['one with its line breaks written out', pem(ec.publicKey).replaceAll('\n', '\\n')],
  ])('may be %s', (_what, value) => {
    expect(problemsOf({ JWT_PUBLIC_KEY: value })).toEqual([]);
  });

  it.each([
    ['no PEM', 'not a key'],
    ['a private key', ec.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()],
    ['a short RSA key', pem(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey)],
    ['another curve', pem(generateKeyPairSync('ec', { namedCurve: 'secp384r1' }).publicKey)],
    ['another kind', pem(generateKeyPairSync('ed25519').publicKey)],
    ['rubbish in PEM', '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----'],
  ])('is rejected where it is %s, and not repeated', (_what, value) => {
    const [problem = '', ...others] = problemsOf({ JWT_PUBLIC_KEY: value });
    expect(others).toEqual([]);
    expect(problem).toMatch(/^JWT_PUBLIC_KEY must hold public keys in PEM/);
    expect(problem).not.toContain(value);
  });
});

describe('JWT_SECRET', () => {
  it('has 32 bytes at least', () => {
    expect(problemsOf({ JWT_SECRET: LONG.slice(1) })).toEqual(['JWT_SECRET must be at least 32 bytes long.']);
    expect(problemsOf({ JWT_SECRET: LONG })).toEqual([]);
  });

  it('must not be weak in production', () => {
    const problems = problemsOf({ ...PRODUCTION, JWT_SECRET: 'change-me-change-me-change-me-change-me' });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^JWT_SECRET is weak/);
    expect(problemsOf({ ...PRODUCTION, JWT_SECRET: LONG })).toEqual([]);
  });
});

describe('JWT_JWKS_URL', () => {
  it('is an address, and in production one that nobody can change on its way', () => {
    expect(problemsOf({ JWT_JWKS_URL: 'file:///etc/passwd' })).toHaveLength(1);
    expect(problemsOf({ ...PRODUCTION, JWT_JWKS_URL: 'http://login.example.com/jwks' })).toEqual([
      'JWT_JWKS_URL must be an https URL in production, but is "http://login.example.com/jwks".',
    ]);
    for (const url of ['https://login.example.com/jwks', 'http://127.0.0.1:8080/jwks'])
      expect(problemsOf({ ...PRODUCTION, JWT_JWKS_URL: url })).toEqual([]);
  });

  it('names no user and no password, and what is wrong with it does not repeat them', () => {
    for (const address of [
      'ann:hunter2@login.example.com',
      'ann@login.example.com',
      ':hunter2@login.example.com',
    ]) {
      const problems = problemsOf({ JWT_JWKS_URL: `https://${address}/jwks` });
      expect(problems).toHaveLength(1);
      expect(problems[0]).toMatch(/^JWT_JWKS_URL must be .* without a user name/);
      expect(problems[0]).not.toMatch(/hunter2|ann/);
    }
  });
});

describe('JWT_DEFAULT_SCOPES', () => {
  it('lists scopes of the service, and a mistake is reported with those of the other settings', () => {
    expect(problemsOf({ JWT_DEFAULT_SCOPES: 'posts:read, comments:write' })).toEqual([]);
    for (const value of ['posts:reed', 'posts:read openid', 'posts:read,toString'])
      expect(problemsOf({ JWT_DEFAULT_SCOPES: value, PORT: 'x' })).toEqual([
        'PORT must be a whole number from 0 to 65535, but is "x".',
        `JWT_DEFAULT_SCOPES must be a comma-separated list of scopes, which are ${SCOPES.join(', ')}, but is "${value}".`,
      ]);
  });
});

describe('JWT_ACCOUNTS', () => {
  const both = { JWT_ISSUER: 'https://login.example.com', JWT_AUDIENCE: 'api' };

  it('is existing, link or create', () => {
    expect(loadConfig({}).jwt.accounts).toBe('existing');
    expect(loadConfig({ ...both, JWT_ACCOUNTS: 'link' }).jwt.accounts).toBe('link');
    expect(problemsOf({ JWT_ACCOUNTS: 'any' })).toEqual([
      'JWT_ACCOUNTS must be existing, link or create, but is "any".',
    ]);
  });

  it.each(['link', 'create'])('is %s for one issuer and one audience only', (accounts) => {
    for (const given of [{}, { ...both, JWT_ISSUER: '' }, { ...both, JWT_AUDIENCE: '' }])
      expect(problemsOf({ ...given, JWT_ACCOUNTS: accounts })).toEqual([
        `JWT_ACCOUNTS=${accounts} requires JWT_ISSUER and JWT_AUDIENCE, but not both are set.`,
      ]);
    expect(problemsOf({ ...both, JWT_ACCOUNTS: accounts })).toEqual([]);
  });
});

describe.each(['PUBLIC_URL', 'CORS_ORIGINS'])('%s', (name) => {
  it('names no user and no password', () => {
    expect(problemsOf({ [name]: 'https://ann:hunter2@api.example.com' })).toHaveLength(1);
  });
});

describe('CREDENTIAL_RECHECK_MS', () => {
  it('keeps the promise that a stream ends within a minute of its credentials', () => {
    expect(loadConfig({}).credentialRecheckMs).toBeLessThanOrEqual(30_000);
    expect(problemsOf({ CREDENTIAL_RECHECK_MS: '30001' })).toHaveLength(1);
  });
});
