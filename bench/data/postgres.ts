import { execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';

const INSTALLED = '/usr/lib/postgresql';
const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 15_000;

/** Vacuuming in the background would fall on whoever is measured: the bench vacuums between measurements itself. */
const SETTINGS = {
  autovacuum: 'off',
  shared_buffers: '512MB',
  max_wal_size: '4GB',
  checkpoint_timeout: '30min',
  max_connections: '200',
  listen_addresses: '127.0.0.1',
};

/** A PostgreSQL server where databases may be made. */
export interface Postgres {
  readonly url: string;
  /** What runs, for the report. */
  readonly settings: string;
  stop(): Promise<void>;
}

/** PostgreSQL rejects to run as root: there it runs as the user that its package has made. */
function ownerOfServer(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (option: string) => Number(execFileSync('id', [option, 'postgres']).toString());
  return { uid: id('-u'), gid: id('-g') };
}

function binaries(): string {
  const versions = existsSync(INSTALLED) ? readdirSync(INSTALLED) : [];
  const newest = versions
    .filter((version) => existsSync(join(INSTALLED, version, 'bin/postgres')))
    .toSorted((a, b) => Number(b) - Number(a))[0];
  if (newest === undefined)
    throw new Error(`There is no PostgreSQL in ${INSTALLED}: install one, or set BENCH_DATABASE_URL.`);
  return join(INSTALLED, newest, 'bin');
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port is free');
  return address.port;
}

async function untilItResponds(url: string, ended: () => boolean): Promise<void> {
  const untilMs = performance.now() + START_LIMIT_MS;
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (ended() || performance.now() > untilMs)
        throw new Error('PostgreSQL did not start', { cause: error });
      await delay(50);
    }
  }
}

/** A server of the bench's own, in a folder of its own, gone without a trace when it stops. */
async function startOwn(): Promise<Postgres> {
  const bin = binaries();
  const owner = ownerOfServer();
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-bench-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    if (owner.uid !== undefined && owner.gid !== undefined) await chown(folder, owner.uid, owner.gid);
    const data = join(folder, 'data');
    const initdb = [
      '-D',
      data,
      '-U',
      'postgres',
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--locale=C.UTF-8',
      '--no-sync',
    ];
    await promisify(execFile)(join(bin, 'initdb'), initdb, { ...owner, cwd: folder });
    const port = await freePort();
    const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const child = spawn(join(bin, 'postgres'), ['-D', data, '-k', folder, '-p', String(port), ...settings], {
      ...owner,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'ignore'],
      // Ctrl-C reaches the whole foreground group; the server is to outlive its clients.
      detached: true,
    });
    const ended = () => child.exitCode !== null || child.signalCode !== null;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    // For an end that waits for nothing.
    const abandon = () => {
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    };
    process.once('exit', abandon);
    const stop = async () => {
      process.off('exit', abandon);
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
      // "Fast": does not wait for clients to leave.
      if (!ended()) child.kill('SIGINT');
      await exited;
      clearTimeout(timer);
      await remove();
    };
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    try {
      await untilItResponds(url, ended);
    } catch (error) {
      await stop();
      throw error;
    }
    const said = Object.entries(SETTINGS).filter(([name]) => name !== 'listen_addresses');
    return { url, settings: said.map((pair) => pair.join('=')).join(', '), stop };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** The server that BENCH_DATABASE_URL names, or one of the bench's own. */
export async function startPostgres(): Promise<Postgres> {
  const url = process.env.BENCH_DATABASE_URL;
  if (url) return { url, settings: 'as BENCH_DATABASE_URL has them', stop: async () => undefined };
  return startOwn();
}
