import { Command, Option } from 'commander';
import { API_KEY_NAMES } from '../auth/api-keys.ts';
import { type Operator, processOperator, runAs } from '../auth/audit.ts';
import { ENDINGS, ENDINGS_OF_PASSWORD, FEATURES, STORED } from '../features/features.ts';
import { buildText } from '../platform/process.ts';
import { ACCOUNT_CONTENT } from '../schema/account-content.ts';
import { backupCommand, restoreCommand } from './backup/commands.ts';
import type { AdminCommand, OpenedDatabase, RunCommand, RunWithout } from './cli/connection.ts';
import { parseReason, type ReasonOption } from './cli/options.ts';
import { type CommandIo, createLocalIo, EXIT, printResult, report, UndoneError } from './cli/output.ts';
import { apiKeyCommands } from './commands/api-keys.ts';
import { auditCommand } from './commands/audit.ts';
import {
  revokeAllCommand,
  sessionCommands,
  streamTokenCommands,
  tokenCommands,
} from './commands/credentials.ts';
import { eventLogCommands, exportCommand, migrateCommand } from './commands/database.ts';
import { deprecationsCommand } from './commands/deprecations.ts';
import { documentCommands } from './commands/documents.ts';
import { blockCommand, blocksCommand, topCommand, unblockCommand } from './commands/restrictions.ts';
import { sqlCommand } from './commands/sql.ts';
import { userCommands } from './commands/users.ts';
import { doctorCommand } from './doctor/doctor.ts';

/** SQL of the ids and names of clients. */
const CLIENT_NAMES = [API_KEY_NAMES, ...FEATURES.flatMap(({ clientNames = [] }) => clientNames)];

const COMMANDS: readonly AdminCommand[] = [
  userCommands(ENDINGS, ENDINGS_OF_PASSWORD, STORED, ACCOUNT_CONTENT),
  apiKeyCommands,
  sessionCommands,
  tokenCommands,
  streamTokenCommands,
  documentCommands(CLIENT_NAMES),
  deprecationsCommand(CLIENT_NAMES),
  revokeAllCommand(ENDINGS),
  ...(await Promise.all(FEATURES.map(({ commands }) => commands()))).flat(),
  eventLogCommands,
  auditCommand,
  topCommand,
  sqlCommand,
  doctorCommand,
  blockCommand,
  unblockCommand,
  blocksCommand,
  migrateCommand,
  backupCommand,
  restoreCommand(ENDINGS),
  exportCommand,
];

const HELP_WIDTH = 80;

/**
 * The command line of an operator, whose name and reason are in what its commands leave in the audit log. To add a command,
 * define it in its own file and list it here.
 */
export function createProgram(
  run: RunCommand,
  runWithout: RunWithout,
  io: CommandIo = createLocalIo(),
  operator: Operator = processOperator(),
): Command {
  const program = new Command('npm run -s admin --')
    .description('Administers the configured database, even while a server uses it.')
    .version(buildText(), '--version', 'prints the version and the commit')
    .addOption(new Option('--reason <text>', 'why, for the audit log').argParser(parseReason))
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      getOutHelpWidth: () => io.stdout.columns ?? HELP_WIDTH,
      getErrHelpWidth: () => io.stderr.columns ?? HELP_WIDTH,
    })
    .exitOverride()
    .showHelpAfterError('(add --help for usage)');
  const asOperator = <T>(work: () => T): T => {
    const { reason } = program.opts<ReasonOption>();
    return runAs(reason === undefined ? operator : { ...operator, reason }, work);
  };
  for (const { name, description, define } of COMMANDS) {
    const group = program.commands.find((known) => known.name() === name);
    define(
      group ?? program.command(name).description(description),
      (work, options) => asOperator(() => run(work, options)),
      (work, options) => asOperator(() => runWithout(work, options)),
      io,
    );
  }
  return program;
}

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
