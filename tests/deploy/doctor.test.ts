import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readShippedConfiguration } from '../../scripts/cluster/nginx.ts';
import { freePort } from '../../scripts/cluster/processes.ts';
import { startNginx } from '../support/nginx.ts';
import { ROOT, temporaryFolder } from '../support/processes/process.ts';
import { admin, productionSettings, startServer } from '../support/processes/server.ts';
import { database, run } from '../support/processes/started.ts';

interface Look {
  readonly check: string;
  readonly status: string;
  readonly finding: string;
  readonly action: string | null;
}

interface Changes {
  readonly settings?: Readonly<Record<string, string>>;
  readonly nginx?: (configuration: string) => string;
  /** What the command has other than the service. */
  readonly command?: Readonly<Record<string, string>>;
}

/** What `admin doctor` says of a service in production behind nginx. */
async function examined(url: string, { settings = {}, nginx = (text) => text, command = {} }: Changes = {}) {
  const [folder, port] = [await temporaryFolder(), await freePort()];
  const common = {
    ...productionSettings(),
    DATABASE_URL: url,
    TRUST_PROXY: '127.0.0.1',
    PUBLIC_URL: `https://localhost:${port}`,
    METRICS_TOKEN: 'dk3Jf8sLq0Zx7Vb2',
    // Two answers come before the limit of a client has recovered, however slow the machine is.
    RATE_LIMIT_PER_SECOND: '0.1',
    ...settings,
  };
  const { origin } = await startServer(folder, common);
  const { home } = await startNginx(
    nginx(readShippedConfiguration({ port, instances: [new URL(origin).host] })),
    {
      folder,
      port,
    },
  );
  const trust = { NODE_EXTRA_CA_CERTS: `${home}/certificate.pem` };
  const { code, json, stderr } = await admin(['doctor'], folder, { ...common, ...trust, ...command });
  const looks: Look[] = json;
  return { code, stderr, looks, of: (name: string) => looks.find(({ check }) => check === name) };
}

describe('admin doctor, of a service in production behind nginx', () => {
  it('finds nothing to do where all is well', async () => {
    const { code, looks, stderr } = await examined(await database());
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const fine = ['settings', 'database', 'migrations', 'sequences', 'proxy', 'client-address'];
    expect(looks.filter(({ check }) => check !== 'pool')).toEqual(
      fine.map((check) => ({ check, status: 'ok', finding: expect.any(String), action: null })),
    );
    // Other tests have connections to the same server.
    expect(looks.find(({ check }) => check === 'pool')?.status).toBeOneOf(['ok', 'warning']);
  });

  it('calls no proxy bad that it cannot judge: limits come back faster than it answers', async () => {
    const fast = { RATE_LIMIT_PER_SECOND: '1000000' };
    const { code, of } = await examined(await database(), { settings: fast });
    expect(of('client-address')?.status).toBe('warning');
    expect(code).toBe(0);
  });

  it.each<[string, string, Changes, RegExp]>([
    [
      'a proxy that TRUST_PROXY does not list',
      'proxy',
      { settings: { TRUST_PROXY: '192.0.2.9' } },
      /TRUST_PROXY \(now 192\.0\.2\.9\)/,
    ],
    [
      'a proxy that does not say that it has TLS',
      'proxy',
      { nginx: (text) => text.replace('proxy_set_header X-Forwarded-Proto $scheme;', '') },
      /X-Forwarded-Proto/,
    ],
    [
      'a proxy that passes on what clients write',
      'client-address',
      {
        nginx: (text) =>
          text.replace('X-Forwarded-For $remote_addr', 'X-Forwarded-For $http_x_forwarded_for'),
      },
      /replace X-Forwarded-For/,
    ],
    ['a certificate that is not trusted', 'proxy', { command: { NODE_EXTRA_CA_CERTS: '' } }, /certificate/],
    [
      'an address at which nothing answers',
      'proxy',
      { command: { PUBLIC_URL: 'https://localhost:1' } },
      /the host name/,
    ],
    ['a Redis that does not answer', 'redis', { command: { REDIS_URL: 'redis://127.0.0.1:1' } }, /REDIS_URL/],
    [
      'a pool that is larger than the server',
      'pool',
      { command: { DATABASE_POOL_SIZE: '1000' } },
      /DATABASE_POOL_SIZE/,
    ],
    ['settings that are wrong', 'settings', { command: { PORT: 'x' } }, /correct the setting/],
  ])('tells of %s, and exits with 1', async (_what, check, changes, action) => {
    const { code, stderr, of } = await examined(await database(), changes);
    expect(of(check)).toMatchObject({ status: 'error', action: expect.stringMatching(action) });
    expect({ code, stderr }).toEqual({ code: 1, stderr: `Failed checks: ${check}.\n` });
  });
});

describe('admin doctor', () => {
  it('rejects a TRUST_PROXY that contains clients, and the placeholder of deploy/kubernetes', async () => {
    const { data } = parse(readFileSync(join(ROOT, 'deploy/kubernetes/settings.yaml'), 'utf8')) as {
      data: Record<string, string>;
    };
    for (const TRUST_PROXY of ['0.0.0.0/0', '::ffff:0:0/96', data.TRUST_PROXY ?? '']) {
      const { code, json, stderr } = await admin(['doctor'], await temporaryFolder(), { TRUST_PROXY });
      expect({ code, stderr }).toEqual({ code: 1, stderr: 'Failed checks: settings.\n' });
      expect(json).toEqual([
        expect.objectContaining({ status: 'error', finding: expect.stringMatching(/^TRUST_PROXY must /) }),
      ]);
    }
  });

  it('tells of pending migrations, and applies none', async () => {
    const url = await database();
    await run(url, "DELETE FROM _prisma_migrations WHERE migration_name LIKE '%_restrictions'");
    for (let times = 0; times < 2; times += 1) {
      const { code, json } = await admin(['doctor'], await temporaryFolder(), { DATABASE_URL: url });
      expect(code).toBe(1);
      expect(json).toContainEqual(
        expect.objectContaining({
          check: 'migrations',
          status: 'error',
          finding: expect.stringContaining('_restrictions'),
        }),
      );
    }
  });

  it('tells of a server that cannot be reached, and of a folder without a database, and creates none', async () => {
    const gone = await admin(['doctor'], await temporaryFolder(), {
      DATABASE_URL: 'postgres://ann@127.0.0.1:1/x',
    });
    expect(gone.code).toBe(1);
    expect(gone.json).toContainEqual(
      expect.objectContaining({
        check: 'database',
        status: 'error',
        action: 'check that PostgreSQL is running and listens there',
      }),
    );
    const none = `${await temporaryFolder()}/none`;
    for (let times = 0; times < 2; times += 1)
      expect((await admin(['doctor'], none)).json).toContainEqual(
        expect.objectContaining({
          check: 'database',
          finding: expect.stringContaining('There is no embedded database'),
        }),
      );
  });
});
