import { constants } from 'node:os';
import { processOperator } from '../auth/audit.ts';
import { loadProcessConfig } from '../platform/config/config.ts';
import { createLogger } from '../platform/log/log.ts';
import { openForCommand, type RunCommand, type RunWithout } from './cli/connection.ts';
import { createLocalIo, printResult } from './cli/output.ts';
import { runCommandLine } from './program.ts';
import { relayCommand } from './socket/relay.ts';

/** The admin command line (contract: administration). */

// The umask is set before any thread starts, so that files are private to the user.
process.umask(0o077);
// The first process of a container, such as a migration, ignores signals without a handler. A backup removes
// its draft on exit.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => process.exit(128 + constants.signals[signal]));
// A closed stream must not crash the process with a stack. `printResult` also gets the error.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

const args = process.argv.slice(2);
const operator = processOperator();
const inputs: Record<string, string> = {};
const io = createLocalIo(inputs);
const given = () => ({
  config: loadProcessConfig(),
  log: createLogger({ level: 'error', pretty: false, destination: process.stderr }),
});

let relayedExitCode: number | undefined;
/** Resolves to undefined if no server has locked the database. */
async function relay({ database }: ReturnType<typeof given>['config']): Promise<number | undefined> {
  if (database.kind !== 'embedded') return undefined;
  const describeTerminal = ({ isTTY, columns }: NodeJS.WriteStream) => ({ isTTY, columns });
  const terminals = { stdout: describeTerminal(process.stdout), stderr: describeTerminal(process.stderr) };
  relayedExitCode = await relayCommand(database.dataDir, { args, operator, inputs, ...terminals }, io);
  return relayedExitCode;
}

const run: RunCommand = async (work, { migrates } = { migrates: false }) => {
  const { config, log } = given();
  const opened = await openForCommand({ config, log, migrates }, () => relay(config));
  if (typeof opened === 'number') return;
  try {
    await printResult(io, await work({ ...opened, io }));
  } finally {
    await opened.database.close();
  }
};
const runWithout: RunWithout = async (work, { relayed } = { relayed: false }) => {
  const { config, log } = given();
  if (relayed && (await relay(config)) !== undefined) return;
  const open = () => openForCommand({ config, log, migrates: false, asIs: true });
  await printResult(io, await work({ config, log, io, open }));
};

const exitCode = await runCommandLine(args, io, { run, runWithout, operator });
process.exitCode = relayedExitCode ?? exitCode;
