import type { Command } from 'commander';
import type { RunCommand } from './run-command.ts';

/** `migrate`: what `npm run db:migrate` runs. */
export function addMigrateCommand(program: Command, run: RunCommand): void {
  program
    .command('migrate')
    .description('applies the pending migrations and prints their names')
    .action(() => run(async ({ applied }) => ({ applied }), { migrates: true }));
}
