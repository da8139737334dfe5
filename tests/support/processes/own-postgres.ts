import { execFile, execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { freePort } from '../../../scripts/cluster/processes.ts';
import { until } from './process.ts';

/** A PostgreSQL that is the test's own, to be killed. */
export interface OwnPostgres {
  readonly url: string;
  /** Kills it and every process of it as a power cut does, and starts it again. Resolves once it takes connections. */
  crash(): Promise<void>;
  /** Ends it in order. */
  stop(): Promise<void>;
  /** Ends it as a power cut does. */
  kill(): Promise<void>;
  /** Starts it again after its end, at the same address. */
  restart(): Promise<void>;
  /** Copies its data while it runs. */
  copy(): Promise<Copy>;
  /** Runs one of PostgreSQL's programs to its end, in the folder of `path`. Rejects if it fails. */
  run(program: string, args: readonly string[]): Promise<void>;
  /** A path in the folder that goes with the server. */
  path(name: string): string;
}

/** A copy of the data of a server, made by pg_basebackup. */
export interface Copy {
  /** Has it follow the server, with settings of its own. */
  standby(settings?: Readonly<Record<string, string>>): Promise<OwnPostgres>;
  /** Starts it as a server like the one that it is a copy of. */
  alone(): Promise<OwnPostgres>;
}

const DEBIAN = '/usr/lib/postgresql';

/** The folder of PostgreSQL's programs, all of them, which Debian keeps out of the path. */
function binaries(): string {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...versions.map((version) => join(DEBIAN, version, 'bin')),
    ...(process.env.PATH ?? '').split(':'),
  ];
  const has = (folder: string) =>
    ['initdb', 'postgres', 'pg_basebackup', 'pg_dump'].every((name) => existsSync(join(folder, name)));
  const found = folders.find(has);
  if (found === undefined)
    throw new Error(
      'PostgreSQL’s programs (initdb, postgres, pg_basebackup, pg_dump) are not on this machine',
    );
  return found;
}

/** PostgreSQL rejects to run as root. */
function unprivileged(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
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

async function responses(connectionString: string): Promise<boolean> {
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

export interface OwnPostgresOptions {
  /** Settings of the server, beside those that keep it apart. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Further arguments of `initdb`. */
  readonly initdb?: readonly string[];
  /** The environment of `initdb` and the server, beside that of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Has something done when whoever asked is through. */
type Afterwards = (end: () => Promise<void>) => void;

/** Where servers are made, and how. */
class Workshop {
  readonly #bin = binaries();
  readonly #identity = unprivileged();
  readonly #folder = mkdtempSync(join(tmpdir(), 'content-graph-postgres-'));
  readonly #env: NodeJS.ProcessEnv;

  constructor(env: Readonly<Record<string, string>> = {}) {
    const { uid, gid } = this.#identity;
    if (uid !== undefined) chownSync(this.#folder, uid, gid ?? uid);
    this.#env = { ...process.env, ...env };
  }

  get folder(): string {
    return this.#folder;
  }

  /** The path of one of the files in the folder. */
  path(name: string): string {
    return join(this.#folder, name);
  }

  /** Runs one of PostgreSQL's programs to its end, while a service in this process works. Rejects if it fails. */
  async run(program: string, args: readonly string[]): Promise<void> {
    const options = { ...this.#identity, cwd: this.#folder, env: this.#env };
    await promisify(execFile)(join(this.#bin, program), args, options);
  }

  launch(data: string, port: number, settings: Readonly<Record<string, string>>): number {
    const given = { listen_addresses: '127.0.0.1', unix_socket_directories: this.#folder, ...settings };
    const args = Object.entries(given).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const { pid } = spawn(join(this.#bin, 'postgres'), ['-D', data, '-p', String(port), ...args], {
      ...this.#identity,
      cwd: this.#folder,
      env: this.#env,
      stdio: 'ignore',
    });
    if (pid === undefined) throw new Error('postgres did not start');
    return pid;
  }

  remove(): Promise<void> {
    return rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Stopped first, so that it starts no more children while they are counted. */
async function kill(pid: number): Promise<void> {
  if (!runs(pid)) return;
  process.kill(pid, 'SIGSTOP');
  await until('PostgreSQL to stop', () => stateOf(pid) === 'T');
  const all = [...childrenOf(pid), pid];
  for (const one of all) if (runs(one)) process.kill(one, 'SIGKILL');
  await until('the end of PostgreSQL', () => !all.some(runs));
}

/** Serves a data folder until it is stopped. */
async function serve(
  workshop: Workshop,
  data: string,
  settings: Readonly<Record<string, string>>,
  afterwards: Afterwards,
): Promise<OwnPostgres> {
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;

  /** Starts it; undefined where it ended before it took connections, as beside what is left of the one before. */
  async function launch(): Promise<number | undefined> {
    const pid = workshop.launch(data, port, settings);
    await until('PostgreSQL', async () => (await responses(url)) || !runs(pid));
    return runs(pid) ? pid : undefined;
  }

  const start = () => until('a start of PostgreSQL', launch);
  let postmaster = await start();
  let copies = 0;
  afterwards(() => kill(postmaster));
  return {
    url,
    async crash() {
      await kill(postmaster);
      postmaster = await start();
    },
    async stop() {
      if (!runs(postmaster)) return;
      // Fast shutdown: transactions are rolled back, and standbys get all that there is.
      process.kill(postmaster, 'SIGINT');
      await until('the end of PostgreSQL', () => !runs(postmaster));
    },
    kill: () => kill(postmaster),
    async restart() {
      postmaster = await start();
    },
    async copy() {
      copies += 1;
      const folder = `${data}-copy${copies}`;
      const { hostname, port: of } = new URL(url);
      await workshop.run('pg_basebackup', [
        ...['-h', hostname, '-p', of, '-U', 'postgres', '-D', folder],
        ...['--write-recovery-conf', '--wal-method=stream', '--checkpoint=fast'],
      ]);
      return {
        standby: (own = {}) => serve(workshop, folder, { ...settings, ...own }, afterwards),
        async alone() {
          await rm(join(folder, 'standby.signal'));
          return serve(workshop, folder, settings, afterwards);
        },
      };
    },
    run: workshop.run.bind(workshop),
    path: workshop.path.bind(workshop),
  };
}

/** Starts one in a temporary folder, on a port of its own, for as long as the test runs. */
export async function startOwnPostgres(
  { settings = {}, initdb = [], env = {} }: OwnPostgresOptions = {},
  afterwards: Afterwards = onTestFinished,
): Promise<OwnPostgres> {
  const workshop = new Workshop(env);
  const data = workshop.path('data');
  const ends: (() => Promise<void>)[] = [];
  afterwards(async () => {
    for (const end of ends) await end();
    await workshop.remove();
  });
  const encoding = ['-E', 'UTF8', '--locale=C', ...initdb];
  await workshop.run('initdb', ['-D', data, '-U', 'postgres', '--auth=trust', ...encoding]);
  return serve(workshop, data, settings, (end) => void ends.push(end));
}
