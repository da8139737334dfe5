import { Command, Option } from 'commander';
import { type Operator, processOperator, runAs } from '../audit/operator.ts';
import { API_KEY_NAMES } from '../auth/api-key/store.ts';
import { deprecationsCommand } from '../deprecation/commands/deprecations.ts';
import { ENDINGS, ENDINGS_OF_PASSWORD } from '../endings.ts';
import { FEATURES } from '../features.ts';
import { ACCOUNT_CONTENT } from '../modules/account-content.ts';
import { buildText } from '../platform/build.ts';
import { STORED } from '../stored-parts.ts';
import { documentCommands } from '../trusted-documents/commands/documents.ts';
import { apiKeyCommands } from './api-keys.ts';
import { auditCommand } from './audit.ts';
import { backupCommand, restoreCommand } from './backup/commands.ts';
import { blockCommand, blocksCommand, unblockCommand } from './blocks.ts';
import type { AdminCommand, RunCommand, RunWithout } from './command.ts';
import { sessionCommands, tokenCommands } from './credentials.ts';
import { doctorCommand } from './doctor/doctor.ts';
import { exportCommand } from './export-to.ts';
import { parseReason, type ReasonOption } from './options.ts';
import { type CommandIo, createLocalIo } from './output.ts';
import { revokeAllCommand } from './revoke-all.ts';
import { sqlCommand } from './sql.ts';
import { streamTokenCommands } from './stream-tokens.ts';
import { topCommand } from './top.ts';
import { eventLogCommands, migrateCommand } from './upkeep.ts';
import { userCommands } from './users.ts';

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
