import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const NODE = join(ROOT, 'node_modules/.bin/node');
/** Enough for a first start on a machine that is busy with much else. */
const WAIT_MS = 120_000;
const RETRY_MS = 20;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A child process and everything that it has said so far. */
export interface Process {
  readonly pid: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Resolves once it has ended and its output is complete. */
  readonly exited: Promise<Exit>;
  kill(signal: NodeJS.Signals): void;
  /** The match of a pattern in its standard output, once there is one. Throws where it ends without. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
}

/** Asks until the answer is neither undefined nor false. Throws after two minutes, naming what was waited for. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const deadlineMs = performance.now() + WAIT_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (performance.now() > deadlineMs) throw new Error(`waited in vain for ${what}`);
    await delay(RETRY_MS);
  }
}

/** A folder that goes with the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-e2e-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

function follow(child: ChildProcess, command: string): Process {
  const said = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    said.stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said.stderr += text;
  });
  let ended: Exit | undefined;
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      ended = { code, signal, ...said };
      resolve(ended);
    });
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${command} did not start`);
  onTestFinished(async () => {
    if (ended === undefined) child.kill('SIGKILL');
    await exited;
  });
  const complaint = ({ code, signal, stdout, stderr }: Exit) =>
    new Error(`${command} ended with ${code ?? signal}:\n${stdout}${stderr}`);
  return {
    pid,
    get stdout() {
      return said.stdout;
    },
    get stderr() {
      return said.stderr;
    },
    exited,
    kill(signal) {
      if (ended !== undefined) throw complaint(ended);
      process.kill(pid, signal);
    },
    printed: (pattern) =>
      until(`${pattern} from ${command}`, () => {
        const match = pattern.exec(said.stdout);
        if (match === null && ended !== undefined) throw complaint(ended);
        return match ?? undefined;
      }),
  };
}

export type Settings = Readonly<Record<string, string>>;

/** Node keeps compiled modules here: a process starts in half the time. */
const NODE_COMPILE_CACHE = join(tmpdir(), `content-graph-compiled-${process.getuid?.() ?? 0}`);

/** Nothing of the caller's settings reaches a child: only what finds programs and temporary folders. */
export function environment(settings: Settings): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env;
  return { PATH, HOME, NODE_COMPILE_CACHE, ...(TMPDIR === undefined ? {} : { TMPDIR }), ...settings };
}

/** Runs a script of the project, or of a copy at `root`, under the pinned Node, in a folder without a `.env`. */
export function runScript(
  script: string,
  args: readonly string[],
  settings: Settings,
  root: string = ROOT,
  input?: string,
): Process {
  return runProgram([NODE, join(root, script), ...args], settings, undefined, input);
}

/** Runs a program, by default in a folder without a `.env`. */
export function runProgram(
  [program = '', ...args]: readonly string[],
  settings: Settings,
  cwd: string = tmpdir(),
  input?: string,
): Process {
  const child = spawn(program, args, {
    cwd,
    env: environment(settings),
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  // It may end without reading.
  child.stdin?.on('error', () => undefined).end(input);
  return follow(child, [program, ...args].join(' '));
}

/** Runs a line as a person would who pastes it into a terminal at the root of the project. */
export async function runShell(line: string, settings: Settings = {}): Promise<Exit> {
  const child = spawn('/bin/sh', ['-c', line], {
    cwd: ROOT,
    env: environment(settings),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return follow(child, line).exited;
}
