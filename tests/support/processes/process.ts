import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { HOST_ARGUMENTS } from '../reading-plugin.ts';
import { AMPLE_TIMEOUTS } from '../settings.ts';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const NODE = join(ROOT, 'node_modules/.bin/node');
/** Only ends a wait that is in vain. It is below the limit of a test, which would show no reason. */
const WAIT_MS = 300_000;
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

/**
 * Asks until the result is neither undefined nor false.
 * @throws {Error} that names `what` after five minutes, or as soon as the test that waits has ended
 */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const deadlineMs = performance.now() + WAIT_MS;
  const test = expect.getState().currentTestName;
  for (;;) {
    const result = await ask();
    if (result !== undefined && result !== false) return result;
    if (performance.now() > deadlineMs) throw new Error(`waited in vain for ${what}`);
    // A test that has timed out must not act on what the next test does.
    if (expect.getState().currentTestName !== test)
      throw new Error(`the test ended while it waited for ${what}`);
    await delay(RETRY_MS);
  }
}

/** Aborts when the test has ended, so that the loops that it has started end with it. */
export function endOfTest(): AbortSignal {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  return controller.signal;
}

/** Work that repeats until it is stopped. */
export interface Loop {
  /** Resolves after the last round. Rejects if a round has failed. */
  stop(): Promise<void>;
}

/** Repeats work until it is stopped, and no longer than the test. */
export function startLoop(round: () => Promise<void>): Loop {
  const ended = endOfTest();
  let wanted = true;
  const running = (async () => {
    while (wanted && !ended.aborted) await round();
  })();
  // A test that has failed does not stop its loops, whose requests fail when the server ends.
  running.catch(() => undefined);
  return {
    async stop() {
      wanted = false;
      await running;
    },
  };
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
      // Does nothing to a process that has exited and whose output is still being read.
      child.kill(signal);
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

/** Runs a script of the project, or of a copy at `root`, under the pinned Node, with ample timeouts, in a folder without a `.env`. */
export function runScript(
  script: string,
  args: readonly string[],
  settings: Settings,
  root: string = ROOT,
  input?: string,
): Process {
  return runProgram(
    [NODE, ...HOST_ARGUMENTS, join(root, script), ...args],
    { ...AMPLE_TIMEOUTS, ...settings },
    undefined,
    input,
  );
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
