import { Command, Option } from 'commander';
import { type Operator, processOperator, runAs } from '../auth/audit.ts';
import { FEATURES } from '../features/features.ts';
import { buildText } from '../platform/process.ts';
import { defineBackupCommand } from './backup/back-up.ts';
import { defineRestoreCommand } from './backup/restore.ts';
import type { CommandLine, DefineCommands, Opened, RunCommand, RunWithout } from './cli/connection.ts';
import { parseReason, type ReasonOption } from './cli/options.ts';
import { type CommandIo, createLocalIo, EXIT, printResult, report, UndoneError } from './cli/output.ts';
import { defineApiKeyCommands } from './commands/api-keys.ts';
import { defineAuditCommands } from './commands/audit.ts';
import { defineCredentialCommands } from './commands/credentials.ts';
import {
  defineCopyCommand,
  defineEventLogCommands,
  defineMigrateCommand,
  defineSearchCommands,
} from './commands/database.ts';
import { defineDeprecationCommands } from './commands/deprecations.ts';
import { defineDoctorCommand } from './commands/doctor.ts';
import { defineDocumentCommands } from './commands/documents.ts';
import { defineBlockCommands, defineTopCommand } from './commands/restrictions.ts';
import { defineRevokeCommand } from './commands/revoke-credentials.ts';
import { defineSqlCommand } from './commands/sql.ts';
import { defineUserCommands } from './commands/users.ts';

/** The commands are in the order of the help. */
const COMMANDS: readonly DefineCommands[] = [
  defineUserCommands,
  defineApiKeyCommands,
  defineCredentialCommands,
  defineDocumentCommands,
  defineDeprecationCommands,
  defineRevokeCommand,
  ...(await Promise.all(FEATURES.map(({ commands }) => commands()))),
  defineEventLogCommands,
  defineSearchCommands,
  defineAuditCommands,
  defineTopCommand,
  defineSqlCommand,
  defineDoctorCommand,
  defineBlockCommands,
  defineMigrateCommand,
  defineBackupCommand,
  defineRestoreCommand,
  defineCopyCommand,
];

const HELP_WIDTH = 80;

/** Audit entries of the commands store the name and reason of `operator`. */
export function createProgram(
  run: RunCommand,
  runWithout: RunWithout,
  io: CommandIo = createLocalIo(),
  operator: Operator = processOperator(),
): Command {
  const program = new Command('npm run -s admin --')
    .description('Administer the configured database, also while a server uses the database')
    .version(buildText(), '--version', 'Print the version and the commit')
    .addOption(
      new Option('--reason <text>', 'reason for the change, stored in the audit log').argParser(parseReason),
    )
    .helpOption('-h, --help', 'Show the help of a command')
    .helpCommand('help [command]', 'Show the help of a command')
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
  const line: CommandLine = {
    add(usage, description) {
      const [, name, command] = /^([\w-]+) ([\w-].*)$/.exec(usage) ?? [];
      const group = program.commands.find((known) => known.name() === name) ?? program;
      return group.command(command ?? usage).description(description);
    },
    command: <Args extends unknown[]>(
      usage: string,
      description: string,
      work: (opened: Opened, ...args: Args) => Promise<unknown>,
    ) => line.add(usage, description).action((...args: Args) => line.run((opened) => work(opened, ...args))),
    run: (work, options) => asOperator(() => run(work, options)),
    runWithout: (work, options) => asOperator(() => runWithout(work, options)),
    io,
  };
  for (const define of COMMANDS) define(line);
  return program;
}

/** @returns the exit code, after errors were printed. */
export async function runCommandLine(
  args: readonly string[],
  io: CommandIo,
  { run, runWithout, operator }: Pick<CommandLine, 'run' | 'runWithout'> & { readonly operator: Operator },
): Promise<number> {
  try {
    await createProgram(run, runWithout, io, operator).parseAsync(args, { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof UndoneError) await printResult(io, error.result);
    return report(io, error);
  }
}
