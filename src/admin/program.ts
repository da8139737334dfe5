import { Command } from 'commander';
import { addApiKeyCommands } from './api-keys.ts';
import { addCredentialCommands } from './credentials.ts';
import { addEventLogCommands } from './event-log.ts';
import { addMigrateCommand } from './migrate.ts';
import { addOAuthClientCommands } from './oauth-clients.ts';
import type { RunCommand } from './run-command.ts';
import { addSigningKeyCommands } from './signing-keys.ts';
import { addUserCommands } from './users.ts';

/** The command line. A new command is a function like these, in a file of its concern, called here. */
export function createProgram(run: RunCommand): Command {
  const program = new Command('npm run -s admin --')
    .description('Administers the database that the settings name, also while a server runs on it.')
    .exitOverride()
    .showHelpAfterError('(add --help for what there is)');
  addUserCommands(program, run);
  addApiKeyCommands(program, run);
  addOAuthClientCommands(program, run);
  addCredentialCommands(program, run);
  addSigningKeyCommands(program, run);
  addEventLogCommands(program, run);
  addMigrateCommand(program, run);
  return program;
}
