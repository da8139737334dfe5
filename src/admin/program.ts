import { Command } from 'commander';
import { addApiKeyCommands } from './api-keys.ts';
import type { Opened } from './connection.ts';
import { addMigrateCommand } from './migrate.ts';
import { addUserCommands } from './users.ts';

/** Does a command's work on the open database, and prints what it returns. */
export type RunCommand = (
  work: (opened: Opened) => Promise<unknown>,
  options?: { readonly migrates: boolean },
) => Promise<void>;

/** The command line. A new command is a function like these, in a file of its concern, called here. */
export function createProgram(run: RunCommand): Command {
  const program = new Command('npm run -s admin --')
    .description('Administers the database that the settings name, also while a server runs on it.')
    .exitOverride()
    .showHelpAfterError('(add --help for what there is)');
  addUserCommands(program, run);
  addApiKeyCommands(program, run);
  addMigrateCommand(program, run);
  return program;
}
