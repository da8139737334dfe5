import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { environment, type Settings, temporaryFolder, until } from '../../support/processes/process.ts';

/** A block that goes on in a terminal of its own. */
export interface Running {
  readonly text: string;
  /** What it has printed so far. */
  output(): Promise<string>;
  end(): void;
}

/** A terminal into which blocks are pasted, one after the other. */
export interface Shell {
  /** Runs a block to its end and returns what it has printed. Throws, with its messages, if a command fails. */
  run(text: string): Promise<string>;
  /** Starts a block that does not end by itself, and returns once it prints something. */
  start(text: string): Promise<Running>;
}

/** Ends a process group, if it has not ended by itself. */
function endGroup(id: number, signal: NodeJS.Signals = 'SIGTERM'): void {
  try {
    process.kill(-id, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** Bash in a folder. A block sees the variables, functions and folder that those before it have left. */
export async function openShell(cwd: string, settings: Settings): Promise<Shell> {
  const folder = await temporaryFolder();
  const child = spawn('bash', ['--noprofile', '--norc'], {
    cwd,
    env: environment(settings),
    // In a process group of its own, so that a block that hangs can be ended with it.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
  });
  const { stdin, stdio, pid } = child;
  const reports = stdio[3];
  if (
    pid === undefined ||
    stdin === null ||
    reports === null ||
    reports === undefined ||
    !('read' in reports)
  )
    throw new Error('bash did not start');
  const lines = createInterface({ input: reports })[Symbol.asyncIterator]();
  const closed = once(child, 'close');
  onTestFinished(async () => {
    endGroup(pid, 'SIGKILL');
    await closed;
  });
  // A command that fails ends the shell.
  stdin.write('set -eo pipefail\n');
  let blocks = 0;

  /** Sends a line in which $1 is the block's file, and returns what the shell reports; undefined if it has ended. */
  async function send(text: string, line: (file: string) => string) {
    blocks += 1;
    const file = join(folder, `${blocks}`);
    await Promise.all([writeFile(file, text), writeFile(`${file}.out`, ''), writeFile(`${file}.err`, '')]);
    stdin?.write(`${line(file)}\n`);
    const { value, done } = await lines.next();
    const read = async (what: 'out' | 'err') => readFile(`${file}.${what}`, 'utf8');
    return { report: done === true ? undefined : String(value), read };
  }

  return {
    async run(text) {
      const { report, read } = await send(
        text,
        (file) => `. ${file} >${file}.out 2>${file}.err </dev/null; echo done >&3`,
      );
      const output = await read('out');
      if (report === undefined)
        throw new Error(`a command of this block failed:\n${text}\n${output}${await read('err')}`);
      return output;
    },
    async start(text) {
      // As a job, it has a process group of its own.
      const { report, read } = await send(
        text,
        (file) => `set -m; (. ${file}) >${file}.out 2>${file}.err </dev/null 3>&- & set +m; echo $! >&3`,
      );
      if (report === undefined) throw new Error(`bash ended at this block:\n${text}`);
      const end = () => endGroup(Number(report));
      onTestFinished(end);
      await until(`the first output of: ${text}`, async () => (await read('out')) !== '');
      return { text, output: () => read('out'), end };
    },
  };
}
