import type { Operator } from '../audit/operator.ts';
import type { RunCommand, RunWithout } from './command.ts';
import type { OpenedDatabase } from './connection.ts';
import { type CommandIo, EXIT, printResult, report, UndoneError } from './output.ts';
import { createProgram } from './program.ts';

/** How the commands of a command line run, and for whom. */
export interface CommandSession {
  readonly run: RunCommand;
  readonly runWithout: RunWithout;
  readonly operator: Operator;
}

/** Runs a command on an open database and prints the result. */
export async function runOpened(
  { database, config, applied }: OpenedDatabase,
  work: Parameters<RunCommand>[0],
  io: CommandIo,
): Promise<void> {
  await printResult(io, await work({ database, config, applied, io }));
}

/** Runs a command line. Resolves to its exit code, after its errors were printed. */
export async function runCommandLine(
  args: readonly string[],
  io: CommandIo,
  { run, runWithout, operator }: CommandSession,
): Promise<number> {
  try {
    await createProgram(run, runWithout, io, operator).parseAsync(args, { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof UndoneError) await printResult(io, error.result);
    return report(io, error);
  }
}
