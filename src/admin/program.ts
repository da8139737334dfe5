import { Command } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { addApiKeyCommands } from './api-keys.ts';
import { addCredentialCommands } from './credentials.ts';
import { addEventLogCommands } from './event-log.ts';
import { addMigrateCommand } from './migrate.ts';
import { addOAuthClientCommands } from './oauth-clients.ts';
import type { RunCommand } from './run-command.ts';
import { addSigningKeyCommands } from './signing-keys.ts';
import { addStreamTokenCommands } from './stream-tokens.ts';
import { addUserCommands } from './users.ts';

/** The command line. To add a command, write a function like these in its own file and call it here. */
export function createProgram(run: RunCommand): Command {
  const program = new Command('npm run -s admin --')
    .description('Administers the configured database, even while a server uses it.')
    .version(packageJson.version, '--version', 'prints the version')
    .exitOverride()
    .showHelpAfterError('(add --help for usage)');
  addUserCommands(program, run);
  addApiKeyCommands(program, run);
  addOAuthClientCommands(program, run);
  addCredentialCommands(program, run);
  addStreamTokenCommands(program, run);
  addSigningKeyCommands(program, run);
  addEventLogCommands(program, run);
  addMigrateCommand(program, run);
  return program;
}
