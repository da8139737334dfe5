import { execFile } from 'node:child_process';
import { chmod, chown, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { statement } from '../../src/database/statement.ts';
import { loadConfig } from '../../src/platform/config/config.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { type OwnPostgres, startOwnPostgres } from '../support/processes/own-postgres.ts';
import { until } from '../support/processes/process.ts';
import { launchServer, productionSettings } from '../support/processes/server.ts';
import { run, said } from '../support/processes/started.ts';

const IS_ENCRYPTED = statement<{ ssl: boolean }>(
  'test_ssl',
  'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()',
);

/** Whether the service's connections are encrypted. Rejects as a start does. */
async function encrypted(DATABASE_URL: string): Promise<boolean | undefined> {
  const database = await openDatabase({
    config: loadConfig({ NODE_ENV: 'test', DATABASE_URL }),
    log: createLogger({ level: 'fatal', pretty: false }),
  });
  try {
    await database.watch.requireUsable({ direct: true });
    const direct = await database.dedicatedClient();
    const { rows } = await direct.query<{ ssl: boolean }>(IS_ENCRYPTED.text).finally(() => direct.end());
    const [pooled] = await database.query(IS_ENCRYPTED, []);
    expect(rows).toEqual([pooled]);
    return pooled?.ssl;
  } finally {
    await database.close();
  }
}

const ends: (() => Promise<void>)[] = [];
let server: OwnPostgres;
let certificate = '';
const address = (query: string) => `${server.url.replace('127.0.0.1', 'localhost')}?${query}`;

beforeAll(async () => {
  server = await startOwnPostgres({}, (end) => void ends.push(end));
  certificate = server.path('certificate.pem');
});
afterAll(async () => {
  for (const end of ends) await end();
});

describe('sslmode, where the server has no TLS', () => {
  it.each(['disable', 'allow', 'prefer'])('%s connects', async (mode) => {
    expect(await encrypted(address(`sslmode=${mode}`))).toBe(false);
  });

  it.each(['require', 'no-verify', 'verify-ca', 'verify-full'])('%s is rejected', async (mode) => {
    await expect(encrypted(address(`sslmode=${mode}`))).rejects.toThrow(/SSL.*check sslmode/);
  });
});

describe('sslmode, where the server has a certificate of a private authority', () => {
  beforeAll(async () => {
    const key = server.path('key.pem');
    await promisify(execFile)('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
      ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'],
      ...['-keyout', key, '-out', certificate],
    ]);
    const { uid, gid } = await stat(server.path('data'));
    for (const file of [key, certificate]) await chown(file, uid, gid);
    await chmod(key, 0o600);
    for (const setting of [`ssl_key_file = '${key}'`, `ssl_cert_file = '${certificate}'`, 'ssl = on'])
      await run(server.url, `ALTER SYSTEM SET ${setting}`);
    await run(server.url, 'SELECT pg_reload_conf()');
    await until('TLS', () => encrypted(address('sslmode=prefer')));
  });

  it.each(['allow', 'prefer', 'no-verify'])('%s encrypts without a check', async (mode) => {
    expect(await encrypted(address(`sslmode=${mode}`))).toBe(true);
  });

  it.each(['require', 'verify-ca', 'verify-full'])('%s checks the certificate', async (mode) => {
    await expect(encrypted(address(`sslmode=${mode}`))).rejects.toThrow(/self-signed.*sslrootcert=FILE/);
    expect(await encrypted(address(`sslmode=${mode}&sslrootcert=${certificate}`))).toBe(true);
  });

  it.each(['allow', 'prefer', 'require', 'verify-ca'])(
    '%s leaves the log JSON and standard error empty',
    async (mode) => {
      const DATABASE_URL = address(`sslmode=${mode}&sslrootcert=${certificate}`);
      const service = launchServer('', { ...productionSettings(), DATABASE_URL });
      await said(service, 'service.started');
      service.kill('SIGTERM');
      expect(await service.exited).toMatchObject({ code: 0, stderr: '' });
    },
  );

  it.each(['disable', 'prefer', 'require', 'verify-full'])('%s means nothing on a socket', async (mode) => {
    const { port } = new URL(server.url);
    const socket = `host=${server.path('')}&port=${port}`;
    expect(await encrypted(`postgres://postgres@/postgres?${socket}&sslmode=${mode}`)).toBe(false);
  });
});
