import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../scripts/cluster/processes.ts';
import { fakePostgres } from '../support/database/fake-postgres.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { expectBothSay, expectOneLine } from '../support/processes/mistakes.ts';
import { temporaryFolder, until } from '../support/processes/process.ts';
import { admin, launchServer, productionSettings, startServer } from '../support/processes/server.ts';
import { events, lines } from '../support/processes/started.ts';

describe('HOST and PORT', () => {
  it('are taken, which is said before anything is created', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    onTestFinished(() => void holder.close());
    const address = holder.address();
    const PORT = String(typeof address === 'object' ? address?.port : '');
    const dataDir = join(await temporaryFolder(), 'never');
    for (const settings of [{ PORT }, { ...productionSettings(), PORT }]) {
      const exit = await launchServer(dataDir, settings).exited;
      expectOneLine(exit, new RegExp(`HOST=127\\.0\\.0\\.1, PORT=${PORT}: another process listens there`));
      expect(exit.stdout).not.toContain('service.started');
      expect(existsSync(dataDir)).toBe(false);
    }
  });

  it('are those of a service that is just stopping on the same folder, which is waited for', async () => {
    const dataDir = await migratedFolder();
    const settings = { ...productionSettings(), SHUTDOWN_DELAY_SECONDS: '2', PORT: String(await freePort()) };
    const first = await startServer(dataDir, settings);
    const starting = startServer(dataDir, settings);
    first.kill('SIGTERM');
    const second = await starting;
    expect((await first.exited).code).toBe(0);
    expect((await fetch(`${second.origin}/health/ready`)).status).toBe(200);
  });

  it('are an IPv6 address in brackets, as it is in addresses', async () => {
    const server = await startServer(await migratedFolder(), { ...productionSettings(), HOST: '[::1]' });
    expect(server.origin).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect((await fetch(`${server.origin}/health/ready`)).status).toBe(200);
  });

  const cases: [string, RegExp][] = [
    ['192.0.2.1', /HOST=192\.0\.2\.1, PORT=0: HOST must be an IP address of this machine/],
    ['nowhere.invalid', /HOST=nowhere\.invalid, PORT=0: HOST must be an IP address or a known host name/],
  ];
  it.each(cases)('name an address that is not of this machine: %s', async (HOST, says) => {
    expectOneLine(
      await launchServer(await temporaryFolder(), { ...productionSettings(), HOST }).exited,
      says,
    );
  });
});

describe('DATABASE_URL', () => {
  const rejections: [string, string, RegExp][] = [
    ['28P01', 'password authentication failed for user "ann"', /correct the user or the password/],
    ['28000', 'role "ann" does not exist', /correct the user, or allow it in pg_hba\.conf/],
    ['3D000', 'database "content" does not exist', /create the database or correct its name/],
  ];
  it.each(rejections)('is rejected with %s', async (rejects, saying, says) => {
    const dataDir = join(await temporaryFolder(), 'never');
    const DATABASE_URL = await fakePostgres({ rejects, saying });
    const settings = { ...productionSettings(), DATABASE_URL };
    await expectBothSay(
      dataDir,
      settings,
      new RegExp(`^DATABASE_URL \\(.*user "ann".*${saying}; ${says.source}`),
    );
    expect(existsSync(dataDir)).toBe(false);
  });

  it('leads to a PostgreSQL that is too old', async () => {
    const DATABASE_URL = await fakePostgres({ version: 140_012 });
    await expectBothSay(
      '',
      { ...productionSettings(), DATABASE_URL },
      /^DATABASE_URL .* is PostgreSQL 14, and the service needs 15 or later: upgrade/,
    );
  });

  it('is right, and DIRECT_DATABASE_URL is rejected', async () => {
    const settings = {
      ...productionSettings(),
      DATABASE_URL: await fakePostgres({ version: 170_000 }),
      DIRECT_DATABASE_URL: await fakePostgres({ rejects: '28P01', saying: 'no' }),
    };
    expectOneLine(await launchServer('', settings).exited, /^DIRECT_DATABASE_URL \(/);
    // Of the commands, those that migrate need it.
    expectOneLine(await admin(['database', 'migrate'], '', settings), /^DIRECT_DATABASE_URL \(/);
  });

  const unreachable: [string, () => Promise<string>, RegExp][] = [
    [
      'nobody listens',
      async () => 'postgres://ann:swordfish@127.0.0.1:1/content',
      /ECONNREFUSED.*check that PostgreSQL is running/,
    ],
    [
      'its name is unknown',
      async () => 'postgres://ann:swordfish@nowhere.invalid/content',
      /nowhere\.invalid.*check the host name/,
    ],
    [
      'it is starting',
      () => fakePostgres({ rejects: '57P03', saying: 'the database system is starting up' }),
      /starting up.*PostgreSQL is starting or stopping/,
    ],
    [
      'it has too many connections',
      () => fakePostgres({ rejects: '53300', saying: 'sorry, too many clients already' }),
      /too many clients.*max_connections/,
    ],
    [
      'it is no PostgreSQL',
      () => fakePostgres({ writes: 'HTTP/1.1 400 Bad Request\r\n\r\n' }),
      /check that a PostgreSQL server listens there/,
    ],
    [
      'it has no TLS',
      async () => `${await fakePostgres({ writes: 'N' })}?sslmode=verify-full`,
      /SSL.*check sslmode/,
    ],
  ];
  it.each(unreachable)(
    'cannot be reached: %s; the service waits and stops orderly, the command ends',
    async (_name, make, says) => {
      const settings = { ...productionSettings(), DATABASE_URL: await make() };
      const PORT = String(await freePort());
      const server = launchServer('', { ...settings, PORT });
      await server.printed(/\n/);
      // It stops in order once it serves.
      const live = () => fetch(`http://127.0.0.1:${PORT}/health/live`).then(({ ok }) => ok);
      await until('the service', () => live().catch(() => false));
      server.kill('SIGTERM');
      const { code, stdout, stderr } = await server.exited;
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      // A slow machine gets a reminder.
      expect([...new Set(events(server))]).toEqual([
        'database.waiting',
        'service.stopping',
        'service.stopped',
      ]);
      const [first] = lines(server);
      expect(`${first?.reason}; ${first?.hint}`).toMatch(says);
      expect(stdout).not.toMatch(/swordfish| {4}at /);
      expectOneLine(
        await admin(['user', 'list'], '', settings),
        new RegExp(`^The database cannot be reached: DATABASE_URL.*${says.source}`),
      );
    },
  );
});

describe('secrets from files', () => {
  it('are read, and their mistakes named by the setting', async () => {
    const folder = await temporaryFolder();
    const { SECRET_KEY = '', ...rest } = productionSettings();
    await writeFile(join(folder, 'key'), `${SECRET_KEY}\n`);
    await writeFile(join(folder, 'empty'), '\n');
    await writeFile(join(folder, 'url'), 'postgres://ann:swordfish@127.0.0.1:1/content\n');
    const settings = { ...rest, SECRET_KEY_FILE: join(folder, 'key') };
    const server = launchServer('', { ...settings, DATABASE_URL_FILE: join(folder, 'url') });
    await server.printed(/database\.waiting/);

    const mistakes = {
      ...settings,
      SECRET_KEY,
      DATABASE_URL_FILE: join(folder, 'missing'),
      METRICS_TOKEN_FILE: join(folder, 'empty'),
      REDIS_URL_FILE: folder,
    };
    const { code, stdout, stderr } = await launchServer('', mistakes).exited;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.trim().split('\n').slice(1).sort()).toEqual([
      `  - DATABASE_URL_FILE names the file "${folder}/missing", which does not exist: it must hold the value of DATABASE_URL.`,
      `  - METRICS_TOKEN_FILE names the file "${folder}/empty", which is empty: it must hold the value of METRICS_TOKEN.`,
      `  - REDIS_URL_FILE names the file "${folder}", which cannot be read (EISDIR): it must hold the value of REDIS_URL.`,
      '  - SECRET_KEY and SECRET_KEY_FILE are both set: remove one of them.',
    ]);
  });
});
