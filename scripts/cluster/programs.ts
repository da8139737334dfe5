import { execFileSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { chown, mkdir, writeFile } from 'node:fs/promises';
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

/** The path of nginx. Throws SetupError. */
export function findNginx(): string {
  const folders = ['/usr/sbin', ...(process.env.PATH ?? '').split(delimiter)];
  const found = folders.map((folder) => join(folder, 'nginx')).find((file) => existsSync(file));
  if (found === undefined)
    throw new SetupError('The demo needs nginx. Install it with: apt-get install nginx');
  return found;
}

/** PostgreSQL refuses to run as root; Debian's package creates a user for it. */
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

interface Place {
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
  const answers = async () => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.end();
    return true;
  };
  await until('PostgreSQL', answers, { service, signal });
  return { service, url };
}

/** Starts nginx as a round-robin reverse proxy with its default proxy settings. */
export async function startNginx(
  file: string,
  upstreams: readonly number[],
  { folder, port, signal }: Place,
): Promise<Running> {
  const home = join(folder, 'nginx');
  await mkdir(home);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const configuration = `
daemon off;
worker_processes 1;
pid ${home}/nginx.pid;
error_log ${home}/error.log;
events {}
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${home}/${name};`).join('\n  ')}
  upstream api {
    ${upstreams.map((upstream) => `server 127.0.0.1:${upstream};`).join('\n    ')}
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://api;
    }
  }
}
`;
  await writeFile(join(home, 'nginx.conf'), configuration);
  const args = ['-e', join(home, 'error.log'), '-p', home, '-c', join(home, 'nginx.conf')];
  const service = start({ file, args, cwd: home });
  const url = `http://127.0.0.1:${port}`;
  await until('nginx', async () => (await fetch(`${url}/health/live`)).ok, { service, signal });
  return { service, url };
}
