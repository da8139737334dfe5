import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';

const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n'];

/** Runs a program as root. Returns what it prints; rejects if it fails. */
export async function root(...command: readonly string[]): Promise<string> {
  const [program = '', ...args] = [...asRoot, ...command];
  const { stdout } = await promisify(execFile)(program, args, { maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const assignments = (env: Readonly<Record<string, string>>) =>
  Object.entries(env).map(([name, value]) => quoted(`${name}=${value}`));

export interface Inside {
  /** The folder that is `/`. */
  readonly root: string;
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  /** Folders of this machine, by the paths at which they are seen; writable where `writable` has the path. */
  readonly mounts: Readonly<Record<string, string>>;
}

/** Mounts that only the program sees and that go with it. /proc and the devices that every container has are there. */
function mountLines({ root: folder, mounts }: Inside): string[] {
  return [
    'set -e',
    'mount --make-rprivate /',
    `mount -t proc proc ${quoted(`${folder}/proc`)}`,
    `mount -t tmpfs tmpfs ${quoted(`${folder}/dev`)}`,
    ...['null', 'zero', 'urandom', 'random'].flatMap((device) => {
      const path = quoted(`${folder}/dev/${device}`);
      return [`touch ${path}`, `mount --bind /dev/${device} ${path}`];
    }),
    ...Object.entries(mounts).map(([path, here]) => `mount --bind ${quoted(here)} ${quoted(folder + path)}`),
  ];
}

/** Runs a shell command in a folder that is `/`, as RUN does, as a user (`uid:gid`). */
export async function runStep(inside: Inside, user: string, command: string): Promise<void> {
  const start = ['env', '-i', ...assignments(inside.env), 'sh', '-c', quoted(command)];
  const lines = [
    ...mountLines(inside),
    `exec chroot --userspec=${user} ${quoted(inside.root)} sh -c ${quoted(`cd ${quoted(inside.workdir)} && exec ${start.join(' ')}`)}`,
  ];
  await root('unshare', '--mount', 'sh', '-c', lines.join('\n'));
}

/** A program in a container, as far as the file system and its rights go. */
export interface Contained {
  readonly stdout: string;
  readonly stderr: string;
  readonly exited: Promise<number | null>;
  kill(signal: NodeJS.Signals): void;
}

/**
 * Runs a program as the user 65532 with no capabilities and no way to get any, in a folder that is `/`. Everything is
 * read-only but `/tmp` and the mounts.
 */
export function contain(inside: Inside, command: readonly string[]): Contained {
  const folder = quoted(inside.root);
  const lines = [
    'set -e',
    'mount --make-rprivate /',
    `mount --bind ${folder} ${folder}`,
    ...mountLines(inside).slice(2),
    `mount -t tmpfs -o mode=1777 tmpfs ${quoted(`${inside.root}/tmp`)}`,
    `mount -o remount,bind,ro ${folder}`,
    [
      `exec env -i ${assignments(inside.env).join(' ')}`,
      '/usr/bin/setpriv --no-new-privs --clear-groups --bounding-set=-all,+sys_chroot,+setuid,+setgid --inh-caps=-all',
      `/usr/bin/unshare --root=${folder} --wd=${quoted(inside.workdir)} --setgid=65532 --setuid=65532`,
      ...command.map(quoted),
    ].join(' '),
  ];
  const line = ['unshare', '--mount', 'sh', '-c', lines.join('\n')];
  const [program = '', ...args] = [...asRoot, ...line];
  const child = spawn(program, args, { cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.stderr += text;
  });
  return {
    get stdout() {
      return said.stdout;
    },
    get stderr() {
      return said.stderr;
    },
    exited: once(child, 'close').then(([code]) => code as number | null),
    // "exec" all the way: it is the program itself.
    kill: (signal) => void child.kill(signal),
  };
}
