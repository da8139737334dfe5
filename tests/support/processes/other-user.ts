import { execFileSync } from 'node:child_process';
import { chmod, copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AMPLE_TIMEOUTS } from '../settings.ts';
import { type Exit, ROOT, runProgram, type Settings, temporaryFolder } from './process.ts';

/** Somebody else on the machine. */
export interface OtherUser {
  /** Runs `other-user-attack.mjs` to its end and reads the JSON it prints. */
  attack(command: string, ...paths: string[]): Promise<Attack>;
  /** Starts it and leaves it running. */
  start(command: string, ...paths: string[]): ReturnType<typeof runProgram>;
  /** Gives a folder with all that is in it to the user. */
  own(folder: string): void;
  /** Starts the service on a folder of the user and a free port. */
  serve(dataDir: string): ReturnType<typeof runProgram>;
  /** Runs an admin command on a folder as the user. */
  admin(args: readonly string[], dataDir: string): Promise<Exit>;
}

/** What came of an attack: the paths of what was possible. */
export interface Attack {
  readonly seen: readonly string[];
  readonly read: readonly string[];
  readonly written: readonly string[];
  readonly moved: readonly string[];
  readonly connected: readonly string[];
  readonly listening: readonly string[];
}

const NOBODY = '65534';
const AS_NOBODY = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];
/** The project may lie where nobody else can go. */
const READING_ALL = ['--inh-caps=+dac_read_search', '--ambient-caps=+dac_read_search'];

/**
 * Another user of this machine. It takes root, or sudo without a password, to be one: the tests that need one fail
 * without, and are not skipped.
 */
export async function otherUser(): Promise<OtherUser> {
  const folder = await temporaryFolder();
  await chmod(folder, 0o755);
  // The project may lie where nobody else can go.
  const node = join(folder, 'node');
  const script = join(folder, 'attack.mjs');
  await copyFile(process.execPath, node);
  await copyFile(fileURLToPath(new URL('other-user-attack.mjs', import.meta.url)), script);
  await Promise.all([chmod(node, 0o755), chmod(script, 0o644)]);
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  const prefix = [...asRoot, ...AS_NOBODY];
  const settings: Settings = {};
  const start = (command: string, ...paths: string[]) =>
    runProgram([...prefix, node, script, command, ...paths], settings);
  const runScriptAsUser = (script: string, args: readonly string[], dataDir: string) =>
    runProgram([...prefix, ...READING_ALL, node, join(ROOT, script), ...args], {
      ...{ ...AMPLE_TIMEOUTS, DATA_DIR: dataDir, PORT: '0' },
    });
  return {
    start,
    own(path) {
      const [program = '', ...args] = [...asRoot, 'chown', '-R', `${NOBODY}:${NOBODY}`, path];
      execFileSync(program, args, { stdio: 'pipe' });
    },
    serve: (dataDir) => runScriptAsUser('src/main.ts', [], dataDir),
    admin: (args, dataDir) => runScriptAsUser('src/admin/main.ts', args, dataDir).exited,
    async attack(command, ...paths) {
      const { code, stdout, stderr } = await start(command, ...paths).exited;
      if (code !== 0) throw new Error(`cannot act as another user (as root, or with sudo -n): ${stderr}`);
      return JSON.parse(stdout) as Attack;
    },
  };
}
