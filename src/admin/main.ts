/**
 * The admin command line (contract section 8): JSON on standard output, messages on standard error. Exit
 * code: 0 on success, 1 if the command failed, 2 on a usage error.
 */
import { constants } from 'node:os';
import { loadProcessConfig } from '../platform/config.ts';
import { createLogger } from '../platform/log.ts';
import type { RunCommand, RunWithout } from './command.ts';
import { openForCommand } from './connection.ts';
import { EXIT, outliveReaders, printResult, report, UndoneError } from './output.ts';
import { createProgram } from './program.ts';

// Before any thread starts: files written here are private to the user.
process.umask(0o077);
// The first process of a container, such as the one that migrates, is ended by no signal without a handler; and a backup
// removes its draft.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => process.exit(128 + constants.signals[signal]));
outliveReaders([process.stdout, process.stderr]);

const given = () => ({
  config: loadProcessConfig(),
  log: createLogger({ level: 'error', pretty: false, destination: process.stderr }),
});
const run: RunCommand = async (work, { migrates } = { migrates: false }) => {
  const opened = await openForCommand({ ...given(), migrates });
  try {
    await printResult(await work(opened));
  } finally {
    await opened.database.close();
  }
};
const runWithout: RunWithout = async (work) => printResult(await work(given()));

try {
  await createProgram(run, runWithout).parseAsync();
  process.exitCode = EXIT.ok;
} catch (error) {
  if (error instanceof UndoneError) await printResult(error.result);
  process.exitCode = report(error);
}
