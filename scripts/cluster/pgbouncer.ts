import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './processes.ts';

/** Debian has it where an ordinary user's PATH does not look. */
const PATH = `${process.env.PATH ?? ''}:/usr/sbin`;
/** It rejects to run as root: then it runs as nobody. */
const NOBODY = 65_534;
const TRIES = 5;

export type PgBouncerSettings = Readonly<Record<string, string>>;

const SHIPPED = readFileSync(new URL('../../deploy/pgbouncer/pgbouncer.ini', import.meta.url), 'utf8');

/** Changes settings in the file of `deploy/pgbouncer`: the addresses, and those of `settings`. Every client may connect. */
function configure(target: URL, port: number, settings: PgBouncerSettings): string {
  const secret = target.password === '' ? '' : ` password='${decodeURIComponent(target.password)}'`;
  const server = `host=${target.hostname} port=${target.port || '5432'} user=${decodeURIComponent(target.username)}${secret}`;
  const shipped = SHIPPED.replace('content = host=10.0.0.5 port=5432', `* = ${server}`).replace(
    /^auth_file.*\n/m,
    '',
  );
  const changes = { listen_addr: '127.0.0.1', listen_port: String(port), auth_type: 'any', ...settings };
  return Object.entries(changes).reduce(
    (text, [name, value]) => `${text.replace(new RegExp(`^${name} = .*\n`, 'm'), '')}${name} = ${value}\n`,
    shipped,
  );
}

/** Has something done when whoever asked is through. */
export type Afterwards = (end: () => Promise<void>) => void;

/**
 * Starts PgBouncer with the shipped file, changed by `settings`, in front of the PostgreSQL at `url`. PgBouncer stops when
 * the function that `afterwards` gets is called. Returns the URL of the same database through PgBouncer.
 */
export async function startPgBouncer(
  url: string,
  afterwards: Afterwards,
  settings: PgBouncerSettings = {},
): Promise<string> {
  const target = new URL(url);
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-pgbouncer-'));
  afterwards(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o755);
  const file = join(folder, 'pgbouncer.ini');
  const identity = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  let said = '';
  for (let tries = 0; tries < TRIES; tries += 1) {
    said = '';
    const port = await freePort();
    await writeFile(file, configure(target, port, settings), { mode: 0o644 });
    const child = spawn('pgbouncer', [file], {
      ...identity,
      env: { PATH },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    // A probe of the port would count as a client.
    const listening = new Promise<boolean>((resolve) => {
      child.stderr.on('data', (data: Buffer) => {
        said += data;
        if (/ process up: .*\n/.test(said)) resolve(true);
      });
    });
    const ended = new Promise<void>((resolve, reject) => {
      child.once('exit', () => resolve());
      child.once('error', reject);
    });
    // Somebody else may have taken the port meanwhile.
    if (!(await Promise.race([listening, ended.then(() => false)]))) continue;
    afterwards(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    target.hostname = '127.0.0.1';
    target.port = String(port);
    return target.href;
  }
  throw new Error(`PgBouncer does not start: ${said}`);
}
