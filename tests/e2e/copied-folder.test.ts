import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { otherUser } from '../support/processes/other-user.ts';
import { endOfTest, until } from '../support/processes/process.ts';
import { admin, demoKey, type ServerProcess, startServer } from '../support/processes/server.ts';

const LONG = 'd'.repeat(150);

const copy = (from: string, to: string) => execFileSync('cp', ['-a', from, to], { stdio: 'pipe' });

/** As a snapshot of the disk has it: all files of one moment. */
function copyOf({ kill }: Pick<ServerProcess, 'kill'>, from: string, to: string): void {
  kill('SIGSTOP');
  copy(from, to);
  kill('SIGCONT');
}

const socketIn = (dataDir: string) => join(dataDir, 'admin.sock');

/** Keyed mutations one after the other until it is stopped. */
function stream(server: ServerProcess, key: string) {
  const test = endOfTest();
  let done = false;
  let count = 0;
  let failure: unknown;
  const ended = (async () => {
    for (; !done && !test.aborted; count += 1) {
      const response = await server.gql('mutation { createPost(title: "t", body: "b") { id } }', {
        key,
        headers: { 'idempotency-key': `copied-folder-${count}` },
      });
      expect({ status: response.status, errors: response.errors }).toEqual({
        status: 200,
        errors: undefined,
      });
    }
  })().catch((error: unknown) => {
    failure = error;
  });
  return {
    /** Resolves once there were more. Throws if one has failed. */
    async more() {
      const from = count;
      await until('further mutations', () => failure !== undefined || count > from + 3);
      if (failure !== undefined) throw failure;
    },
    stop() {
      done = true;
      return ended;
    },
  };
}

const listed = async (dataDir: string, settings = {}) => {
  const { code, stderr, json } = await admin(['user', 'list'], dataDir, settings);
  return { code, stderr, users: json?.length };
};
const LISTED = { code: 0, stderr: '', users: 3 };

describe('A copy of the folder of a running service', () => {
  it.each(['data', LONG])(
    'does no harm to the service, and has commands that see its own data (%s)',
    async (name) => {
      const parent = await migratedFolder();
      const dataDir = join(parent, name);
      const server = await startServer(dataDir, { RATE_LIMIT_BURST: '1000000' });
      const requests = stream(server, await demoKey(dataDir));
      await requests.more();
      const copied = join(parent, `${name}-copied`);
      copyOf(server, dataDir, copied);
      expect(await listed(dataDir)).toEqual(LISTED);

      // A command in its own process, then one in that of a service.
      const eve = [
        'user',
        'create',
        '--name',
        'Eve',
        '--email',
        'eve@example.org',
        '--password',
        'a long passphrase',
      ];
      expect((await admin(eve, copied)).code).toBe(0);
      const second = await startServer(copied);
      await requests.more();
      expect(await listed(dataDir)).toEqual(LISTED);
      expect(await listed(copied)).toEqual({ ...LISTED, users: 4 });

      second.kill('SIGTERM');
      expect(await second.exited).toMatchObject({ code: 0, stderr: '' });
      await requests.more();
      expect(await listed(dataDir)).toEqual(LISTED);
      await requests.stop();
      expect(server.stderr).toBe('');
      expect(server.stdout).not.toMatch(/embedded_db\.(?:crashed|restart)/);
      server.kill('SIGTERM');
      await server.exited;
      expect(existsSync(socketIn(dataDir))).toBe(false);
    },
  );

  it('does the service no harm where another user opens it', async () => {
    const parent = await migratedFolder();
    await chmod(parent, 0o755);
    const dataDir = join(parent, 'data');
    const server = await startServer(dataDir);
    const other = await otherUser();
    const copied = join(parent, 'copied');
    copyOf(server, dataDir, copied);
    other.own(copied);
    const theirs = other.serve(copied);
    await theirs.printed(/service\.started/);
    expect(await listed(dataDir)).toEqual(LISTED);
  });
});

describe('The socket of a killed service', () => {
  it('is replaced by the next start, whose commands also come by another path of the folder', async () => {
    const parent = await migratedFolder();
    const [dataDir, link] = [join(parent, LONG), join(parent, 'link')];
    await symlink(dataDir, link);
    const killed = await startServer(dataDir);
    killed.kill('SIGKILL');
    await killed.exited;
    expect(existsSync(socketIn(dataDir))).toBe(true);
    const server = await startServer(link);
    expect(await listed(dataDir)).toEqual(LISTED);
    expect(await listed(link)).toEqual(LISTED);
    server.kill('SIGTERM');
    await server.exited;
    expect(existsSync(socketIn(dataDir))).toBe(false);
  });
});

describe('a service whose folder was moved away', () => {
  it('still has metrics, but for the room on a disk that it no longer sees', async () => {
    const parent = await migratedFolder();
    const dataDir = join(parent, 'data');
    const server = await startServer(dataDir);
    const free = async () => {
      const scraped = await fetch(`${server.origin}/metrics`);
      const [, value] = /^content_graph_data_disk_available_bytes (\S+)$/m.exec(await scraped.text()) ?? [];
      return [scraped.status, Number(value)];
    };
    expect(await free()).toEqual([200, expect.any(Number)]);
    expect((await free())[1]).toBeGreaterThan(0);
    await rename(dataDir, join(parent, 'moved'));
    expect(await free()).toEqual([200, Number.NaN]);
  });

  it('ends without touching what has its place', async () => {
    const parent = await migratedFolder();
    const [dataDir, moved] = [join(parent, 'data'), join(parent, 'moved')];
    const server = await startServer(dataDir);
    await rename(dataDir, moved);
    await mkdir(dataDir, { mode: 0o700 });
    await writeFile(join(dataDir, 'admin.sock'), '');
    server.kill('SIGTERM');
    expect((await server.exited).code).toBe(0);
    expect(await readdir(dataDir)).toEqual(['admin.sock']);
  });
});
