import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

/** Settings of a child process. An undefined value removes a variable that the caller has. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface CommandResult {
  /** The exit code, or the name of the signal that killed the command. */
  readonly exit: number | NodeJS.Signals;
  readonly seconds: number;
}

/**
 * Runs a command in the root folder of the project and passes its output through.
 * @throws {Error} if the command cannot be started
 */
export async function runCommand(
  [file = '', ...args]: readonly string[],
  environment: Environment = {},
): Promise<CommandResult> {
  const startedMs = performance.now();
  const child = spawn(file, args, {
    cwd: ROOT,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { exit: code ?? signal ?? 1, seconds: (performance.now() - startedMs) / 1_000 };
}

export const formatSeconds = (seconds: number): string => `${Math.round(seconds)} s`;
