import type { RunCommand } from '../../src/admin/cli/connection.ts';
import { AdminError, createLocalIo, StreamedText, UndoneError } from '../../src/admin/cli/output.ts';
import { createProgram } from '../../src/admin/program.ts';
import type { TestApp } from './app.ts';
import type { Parsed } from './parsed.ts';

/** What an admin command has come to. */
export interface CommandResult {
  /** What it prints, read as JSON; undefined where it prints nothing. */
  readonly json: Parsed;
  /** Why it failed, as it says on standard error; undefined where it did not. */
  readonly failure: string | undefined;
}

/** Runs an admin command in process, on the database of an app and with its settings. */
export async function adminCommand(
  { database, config }: Pick<TestApp, 'database' | 'config'>,
  args: readonly string[],
): Promise<CommandResult> {
  let result: unknown;
  const run: RunCommand = async (work) => {
    result = await work({ database, config, applied: [], io: createLocalIo() });
    // It is read while the database is open.
    if (!(result instanceof StreamedText)) return;
    let text = '';
    for await (const piece of result.pieces) text += piece;
    result = JSON.parse(text);
  };
  const runWithout = () => Promise.reject(new Error('the command opens a database of its own'));
  let failure: string | undefined;
  try {
    await createProgram(run, runWithout).parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof AdminError)) throw error;
    failure = error.message;
    if (error instanceof UndoneError) ({ result } = error);
  }
  return { json: result === undefined ? undefined : JSON.parse(JSON.stringify(result)), failure };
}
