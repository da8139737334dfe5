import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync } from 'node:fs';
import { chown, mkdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import pg from 'pg';
import { run, type Service, SetupError, start, until } from './processes.ts';

/** The program folder of the newest installed PostgreSQL. Throws SetupError. */
export function findPostgres(): string {
  const folders = globSync('/usr/lib/postgresql/*/bin').filter((folder) =>
    existsSync(join(folder, 'initdb')),
  );
  const newest = folders
    .sort((a, b) => Number.parseInt(a.split('/')[4] ?? '', 10) - Number.parseInt(b.split('/')[4] ?? '', 10))
    .at(-1);
  const elsewhere = (process.env.PATH ?? '')
    .split(delimiter)
    .find((folder) => existsSync(join(folder, 'initdb')));
  const found = newest ?? elsewhere;
  if (found === undefined)
    throw new SetupError('The demo needs PostgreSQL. Install it with: apt-get install postgresql');
  return found;
}

/** The path of a program, by what Debian calls the program and its package. Throws SetupError. */
export function findProgram(name: string, debianPackage: string): string {
  const folders = ['/usr/sbin', '/usr/bin', ...(process.env.PATH ?? '').split(delimiter)];
  const found = folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
  if (found === undefined)
    throw new SetupError(`${name} is not installed. Install it with: apt-get install ${debianPackage}`);
  return found;
}

export const findNginx = () => findProgram('nginx', 'nginx');
export const findRedis = () => findProgram('redis-server', 'redis-server');
export const findOpenssl = () => findProgram('openssl', 'openssl');

/** PostgreSQL rejects to run as root; Debian's package creates a user for it. */
function postgresUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const ask = (option: string) => Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }));
  try {
    return { uid: ask('-u'), gid: ask('-g') };
  } catch {
    throw new SetupError(
      'When run as root, the demo needs the user "postgres". Create it with: apt-get install postgresql',
    );
  }
}

export interface Running {
  readonly service: Service;
  readonly url: string;
}

/** Where a program runs. */
export interface Place {
  readonly folder: string;
  readonly port: number;
  readonly signal: AbortSignal;
}

/** Starts a separate PostgreSQL server in a subfolder of `folder`. */
export async function startPostgres(bin: string, { folder, port, signal }: Place): Promise<Running> {
  const user = postgresUser();
  const home = join(folder, 'postgres');
  const data = join(home, 'data');
  await mkdir(home);
  if (user !== undefined) await chown(home, user.uid, user.gid);
  const initdb = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'];
  await run({ file: join(bin, 'initdb'), args: initdb, cwd: home, user });
  const server = ['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', home, '-F'];
  const service = start({ file: join(bin, 'postgres'), args: server, cwd: home, user });
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const responses = async () => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.end();
    return true;
  };
  await until('PostgreSQL', responses, { service, signal });
  return { service, url };
}

/** Starts a Redis that keeps nothing. */
export async function startRedis(file: string, { folder, port, signal }: Place): Promise<Running> {
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder];
  const service = start({ file, args, cwd: folder });
  const responses = async () => {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return true;
    } finally {
      socket.destroy();
    }
  };
  await until('Redis', responses, { service, signal });
  return { service, url: `redis://127.0.0.1:${port}` };
}
