import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { SETTING_NAMES } from '../../../src/platform/config/setting-table.ts';
import { isLoopbackHost } from '../../../src/platform/ip-address.ts';
import { problemsOf } from './problems-of.ts';

const SECRET = 'k3JxQm8vZr1TnPd5Wy7LbC0hGfS2aUeI';
const PRODUCTION = {
  NODE_ENV: 'production',
  DATA_DIR: '/srv/data',
  SECRET_KEY: SECRET,
  PUBLIC_URL: 'https://api.example.com',
} as const;

const namesOf = (environment: NodeJS.ProcessEnv) =>
  problemsOf(environment).map((problem) => problem.split(' ')[0]);

describe('loadConfig', () => {
  it('has the defaults of the contract', () => {
    expect(loadConfig({})).toMatchObject({
      environment: 'development',
      database: { kind: 'embedded', dataDir: '.data' },
      host: '127.0.0.1',
      port: 4000,
      publicUrl: undefined,
      trustProxy: [],
      corsOrigins: [],
      corsTokenOrigins: [],
      securityContacts: [],
      secretKeyPrevious: undefined,
      jwt: { defaultScopes: undefined },
      anonymousRead: false,
      introspection: true,
      graphiql: true,
      rateLimit: { burst: 100, perSecond: 20 },
      authFailureLimit: { burst: 10, perSecond: 1 / 30 },
      operationLimits: {
        maxDepth: 10,
        maxComplexity: 5_000,
        maxAliases: 30,
        maxTokens: 1_000,
        maxFieldPairs: 1_000,
      },
      accountRateLimitFactor: 4,
      maxStreamsPerClient: 10,
      maxDistinctSubscriptions: 10_000,
      maxBodyBytes: 1024 ** 2,
      maxBufferedBodyBytes: 64 * 1024 ** 2,
      maxResponseBytes: 8 * 1024 ** 2,
      maxPendingResponseBytes: 256 * 1024 ** 2,
      maxConcurrentOperations: 64,
      maxQueuedOperations: 256,
      requestTimeoutMs: 10_000,
      keepAliveTimeoutMs: 65_000,
      operationTimeoutMs: 10_000,
      statementTimeoutMs: 5_000,
      eventRetentionMs: 24 * 3_600_000,
      idempotency: { retentionMs: 24 * 3_600_000 },
      shutdownDelayMs: 0,
    });
  });

  it('shows nothing of the schema in production unless told to', () => {
    expect(loadConfig(PRODUCTION)).toMatchObject({ introspection: false, graphiql: false });
    expect(loadConfig({ ...PRODUCTION, INTROSPECTION: 'true', GRAPHIQL: 'true' })).toMatchObject({
      introspection: true,
      graphiql: true,
    });
  });

  it('takes an empty value for one that is not set', () => {
    const empty = Object.fromEntries(SETTING_NAMES.map((name) => [name, '']));
    expect(loadConfig(empty)).toEqual(loadConfig({}));
  });

  it('takes DATABASE_URL for listening too unless DIRECT_DATABASE_URL is given', () => {
    const url = 'postgres://a:b@db:5432/c';
    const direct = 'postgresql://a:b@primary/c';
    expect(loadConfig({ DATABASE_URL: url }).database).toMatchObject({ url, directUrl: url });
    expect(loadConfig({ DATABASE_URL: url, DIRECT_DATABASE_URL: direct }).database).toMatchObject({
      url,
      directUrl: direct,
    });
    expect(namesOf({ DIRECT_DATABASE_URL: direct })).toEqual(['DIRECT_DATABASE_URL']);
  });

  it.each([
    ['postgres://ann@/content?host=/cloudsql/a:b:c', 'postgres://ann@localhost/content?host=/cloudsql/a:b:c'],
    ['postgresql://ann:p@:5433/content', 'postgresql://ann:p@localhost:5433/content'],
    ['postgres://ann@db/content', 'postgres://ann@db/content'],
  ])('takes DATABASE_URL=%s, with or without a host', (DATABASE_URL, url) => {
    expect(loadConfig({ DATABASE_URL }).database).toMatchObject({ url });
  });

  it('reads lists with or without spaces', () => {
    expect(
      loadConfig({
        CORS_ORIGINS: 'https://a.example/, HTTP://B.example:81 ,',
        CORS_TOKEN_ORIGINS: ' HTTPS://C.example/,https://d.example',
        JWT_DEFAULT_SCOPES: 'posts:read, users:read',
        SECURITY_CONTACT: 'mailto:security@example.com, https://example.com/report',
        TRUST_PROXY: '10.0.0.0/8,::1',
      }),
    ).toMatchObject({
      corsOrigins: ['https://a.example', 'http://b.example:81'],
      corsTokenOrigins: ['https://c.example', 'https://d.example'],
      jwt: { defaultScopes: ['posts:read', 'users:read'] },
      securityContacts: ['mailto:security@example.com', 'https://example.com/report'],
      trustProxy: ['10.0.0.0/8', '::1'],
    });
  });

  it('takes each network of a TRUST_PROXY that contains no clients', () => {
    const networks = [
      '10.0.0.0/8',
      '::ffff:10.0.0.0/104',
      '104.16.0.0/12',
      '::ffff:6810:0/108',
      '2600:9000::/29',
      'fd00::/8',
    ];
    expect(loadConfig({ TRUST_PROXY: networks.join() }).trustProxy).toEqual(networks);
  });

  it.each([
    ['[::1]', '::1'],
    ['[FE80::1]', 'fe80::1'],
    ['LocalHost', 'localhost'],
    ['0.0.0.0', '0.0.0.0'],
  ])('takes HOST=%s as %s', (HOST, host) => {
    expect(loadConfig({ HOST }).host).toBe(host);
  });

  it.each([
    ['https://api.example.com/', 'https://api.example.com'],
    ['HTTPS://API.Example.COM', 'https://api.example.com'],
    ['https://api.example.com:443', 'https://api.example.com'],
    ['http://[0:0::1]:4000/', 'http://[::1]:4000'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
  ])('takes %s as the origin %s, as browsers send it', (given, origin) => {
    const { publicUrl, corsOrigins } = loadConfig({ PUBLIC_URL: given, CORS_ORIGINS: given });
    expect({ publicUrl, corsOrigins }).toEqual({ publicUrl: origin, corsOrigins: [origin] });
  });

  it('says how to serve a PUBLIC_URL without a path', () => {
    expect(problemsOf({ PUBLIC_URL: 'https://example.com/api/' })).toEqual([
      'PUBLIC_URL must be an origin such as https://api.example.com, without a path, but is "https://example.com/api/". Configure the proxy to serve the service under a separate host name or port.',
    ]);
  });

  it.each([
    ['postgres://a:b@[::1]:5432/c/', 'postgres://a:b@[::1]:5432/c'],
    ['POSTGRES://a:b@DB/c/?schema=s/', 'POSTGRES://a:b@DB/c?schema=s/'],
    ['postgres://db/', 'postgres://db'],
    ['postgres:///c?host=/run/postgresql/', 'postgres:///c?host=/run/postgresql/'],
  ])('takes DATABASE_URL=%s as %s', (DATABASE_URL, url) => {
    expect(loadConfig({ DATABASE_URL }).database).toMatchObject({ url });
  });

  it.each(['redis://[::1]:6379', 'REDIS://Cache:6379/', 'rediss://u:p@h/2/', 'redis://h?family=6'])(
    'takes REDIS_URL=%s',
    (REDIS_URL) => {
      expect(loadConfig({ REDIS_URL })).toMatchObject({ redisUrl: REDIS_URL });
    },
  );

  it.each(['HTTPS://Login.example.com/jwks/', 'http://[::1]:8080/jwks'])(
    'takes JWT_JWKS_URL=%s',
    (JWT_JWKS_URL) => {
      expect(loadConfig({ ...PRODUCTION, JWT_JWKS_URL })).toMatchObject({ jwt: { jwksUrl: JWT_JWKS_URL } });
    },
  );

  it.each([
    ['NODE_ENV', ['prod', 'Production']],
    ['DATABASE_URL', ['mysql://x/y', 'localhost', 'file:///x', 'postgres:a@h/c', 'postgres:/h/c']],
    [
      'DATABASE_URL',
      ['0', '-1', '1.5', '1000', 'soon'].map((limit) => `postgres://h/c?connect_timeout=${limit}`),
    ],
    ['PORT', ['-1', '65536', '4e3', '0x10', ' 80', '80.5', 'many']],
    [
      'HOST',
      ['http://127.0.0.1', '127.0.0.1:4000', '[::1]:4000', '[localhost', 'fe80::1%eth0', '*', 'a b', ':'],
    ],
    [
      'PUBLIC_URL',
      [
        'api.example.com',
        'https://a.example//',
        'https://a.example/x',
        'https://a.example/?x',
        'https://a.example/#x',
        'https://u:p@a.example',
        'https:a.example',
        'ftp://a.example',
      ],
    ],
    [
      'TRUST_PROXY',
      'everyone everyone/8 10.0.0.0/33 10.0.0.0/8/8 ::1/129 * NETWORK_OF_THE_INGRESS_CONTROLLER'.split(' '),
    ],
    [
      'TRUST_PROXY',
      [
        '0.0.0.0/0',
        '0.0.0.0/1',
        '10.0.0.0/7',
        '13.32.0.0/11',
        '::/0',
        '2000::/3',
        '2600:9000::/28',
        '::/64',
        '127.0.0.1,::/0',
      ],
    ],
    // IPv4 networks written as IPv6.
    [
      'TRUST_PROXY',
      [
        '::ffff:0:0/96',
        '::ffff:0.0.0.0/96',
        '::ffff:0:0/90',
        '0:0:0:0:0:ffff:8000:0/97',
        '::ffff:13.32.0.0/107',
      ],
    ],
    [
      'CORS_ORIGINS',
      ['*', 'a.example', 'https://a.example/x', 'https://a.example//', 'https://a.example,*', 'null'],
    ],
    ['CORS_TOKEN_ORIGINS', ['*', 'a.example', 'https://a.example/x', 'null']],
    [
      'SECURITY_CONTACT',
      ['security@example.com', 'http://a.example/report', 'https://', 'mailto:a@b.example,somebody'],
    ],
    ['SECRET_KEY', ['short', 'x'.repeat(31)]],
    ['SECRET_KEY_PREVIOUS', ['short', 'x'.repeat(31)]],
    ['ANONYMOUS_READ', ['yes', '1', 'TRUE']],
    ['METRICS_TOKEN', ['short']],
    [
      'REDIS_URL',
      ['localhost:6379', 'http://localhost', 'redis:h:6379', 'redis://', 'redis:///2', 'redis://h/x'],
    ],
    ['JWT_JWKS_URL', ['login.example.com/jwks', 'ftp://a.example/jwks', 'https://u:p@a.example/jwks']],
    ['RATE_LIMIT_BURST', ['0', '-1', '1.5']],
    ['RATE_LIMIT_PER_SECOND', ['0', '-1', 'fast']],
    ['MAX_DEPTH', ['0', 'deep']],
    ['SHUTDOWN_DELAY_SECONDS', ['-1', '601']],
    ['LOG_LEVEL', ['loud']],
  ])('rejects a wrong %s by name', (name, values) => {
    for (const value of values) expect(namesOf({ [name]: value })).toEqual([name]);
  });

  it('names every mistake at once, each in a line of its own', () => {
    const mistakes = { PORT: 'x', ANONYMOUS_READ: 'x', LOG_LEVEL: 'x', MAX_DEPTH: 'x' };
    expect(namesOf(mistakes).sort()).toEqual(Object.keys(mistakes).sort());
    expect(() => loadConfig(mistakes)).toThrow(/^The settings have 4 errors:(\n {2}- \S+ must be .*\.){4}$/);
  });

  it('names what production lacks together with what is wrong', () => {
    expect(namesOf({ NODE_ENV: 'production', PORT: 'x' }).sort()).toEqual([
      'DATABASE_URL',
      'PORT',
      'PUBLIC_URL',
      'SECRET_KEY',
    ]);
    expect(namesOf({ ...PRODUCTION, SECRET_KEY: 'short' })).toEqual(['SECRET_KEY']);
  });

  it.each([
    ['no secret', { ...PRODUCTION, SECRET_KEY: '' }, 'SECRET_KEY'],
    ['a secret of one character', { ...PRODUCTION, SECRET_KEY: 'a'.repeat(64) }, 'SECRET_KEY'],
    ['a secret from a tutorial', { ...PRODUCTION, SECRET_KEY: `change-me-${SECRET}` }, 'SECRET_KEY'],
    ['a weak token for metrics', { ...PRODUCTION, METRICS_TOKEN: 'passwordpassword' }, 'METRICS_TOKEN'],
    [
      'a token for metrics that repeats',
      { ...PRODUCTION, METRICS_TOKEN: 'k3v9x2mqk3v9x2mq' },
      'METRICS_TOKEN',
    ],
    ['no public address', { ...PRODUCTION, PUBLIC_URL: '' }, 'PUBLIC_URL'],
    ['a public address without TLS', { ...PRODUCTION, PUBLIC_URL: 'http://api.example.com' }, 'PUBLIC_URL'],
  ])('rejects production with %s', (_what, environment, name) => {
    expect(namesOf(environment)).toEqual([name]);
  });

  it('has the embedded database in production only where DATA_DIR is set on purpose', () => {
    const { DATA_DIR, ...without } = PRODUCTION;
    expect(namesOf(without)).toEqual(['DATABASE_URL']);
    expect(namesOf({ ...without, DATA_DIR: '' })).toEqual(['DATABASE_URL']);
    expect(loadConfig({ ...without, DATA_DIR }).database).toEqual({ kind: 'embedded', dataDir: DATA_DIR });
    expect(loadConfig({ ...without, DATABASE_URL: 'postgres://db/c' }).database.kind).toBe('postgres');
    expect(namesOf({ ...without, DATABASE_URL: 'mysql://db/c' })).toEqual(['DATABASE_URL']);
  });

  it('says no secret in its message', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9a-f]{8,31}$/), (secret) => {
        const text = problemsOf({
          NODE_ENV: 'production',
          SECRET_KEY: secret,
          METRICS_TOKEN: secret.slice(0, 15),
        });
        expect(text.join('\n')).not.toContain(secret.slice(0, 8));
      }),
    );
  });
});

describe('isLoopbackHost', () => {
  it.each(['127.0.0.1', '127.8.9.10', '::1', '[::1]', 'localhost'])('is true of %s', (host) => {
    expect(isLoopbackHost(host)).toBe(true);
  });

  it.each(['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.evil.example', 'localhost.evil.example', '128.0.0.1', ''])(
    'is false of "%s"',
    (host) => {
      expect(isLoopbackHost(host)).toBe(false);
    },
  );
});
