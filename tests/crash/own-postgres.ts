import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { until } from '../support/processes/process.ts';

/** A PostgreSQL that is the test's own, to be killed. */
export interface OwnPostgres {
  readonly url: string;
  /** Kills it and every process of it as a power cut does, and starts it again. Resolves once it takes connections. */
  crash(): Promise<void>;
}

const DEBIAN = '/usr/lib/postgresql';

/** The folder of `initdb`, which Debian keeps out of the path. */
function binaries(): string {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...(process.env.PATH ?? '').split(':'),
    ...versions.map((version) => join(DEBIAN, version, 'bin')),
  ];
  const found = folders.find((folder) => existsSync(join(folder, 'initdb')));
  if (found === undefined)
    throw new Error('PostgreSQL’s binaries (initdb, postgres) are not on this machine');
  return found;
}

/** PostgreSQL refuses to run as root. */
function unprivileged(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

async function freePort(): Promise<number> {
  const probe = createServer();
  probe.listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const bound = probe.address();
  await new Promise((done) => probe.close(done));
  if (typeof bound !== 'object' || bound === null) throw new Error('no free port');
  return bound.port;
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

/** The letter of a process's state (proc_pid_status(5)); undefined where there is none. */
function stateOf(pid: number): string | undefined {
  try {
    return /^State:\s+(\w)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

/** Whether a process is there and no zombie. */
const runs = (pid: number) => !['Z', 'X', undefined].includes(stateOf(pid));

async function answers(connectionString: string): Promise<boolean> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 1_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Starts one in a temporary folder, on a port of its own, for as long as the test runs. */
export async function startOwnPostgres(): Promise<OwnPostgres> {
  const bin = binaries();
  const identity = unprivileged();
  const folder = mkdtempSync(join(tmpdir(), 'content-graph-crash-'));
  if (identity.uid !== undefined) chownSync(folder, identity.uid, identity.gid ?? identity.uid);
  const data = join(folder, 'data');
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'postgres', '--auth=trust', '-E', 'UTF8', '--locale=C'],
    { ...identity, cwd: folder, stdio: 'ignore' },
  );
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const settings = ['listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`].flatMap((setting) => [
    '-c',
    setting,
  ]);

  /** Starts it; undefined where it ended before it took connections, as beside what is left of the one before. */
  async function launch(): Promise<number | undefined> {
    const { pid } = spawn(join(bin, 'postgres'), ['-D', data, '-p', String(port), ...settings], {
      ...identity,
      cwd: folder,
      stdio: 'ignore',
    });
    if (pid === undefined) throw new Error('postgres did not start');
    await until('PostgreSQL', async () => (await answers(url)) || !runs(pid));
    return runs(pid) ? pid : undefined;
  }

  const start = () => until('a start of PostgreSQL', launch);

  /** Stopped first, so that it starts no more children while they are counted. */
  async function kill(pid: number): Promise<void> {
    if (!runs(pid)) return;
    process.kill(pid, 'SIGSTOP');
    await until('PostgreSQL to stop', () => stateOf(pid) === 'T');
    const all = [...childrenOf(pid), pid];
    for (const one of all) if (runs(one)) process.kill(one, 'SIGKILL');
    await until('the end of PostgreSQL', () => !all.some(runs));
  }

  let postmaster = await start();
  onTestFinished(async () => {
    await kill(postmaster);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return {
    url,
    async crash() {
      await kill(postmaster);
      postmaster = await start();
    },
  };
}
