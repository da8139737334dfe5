import type { Command } from 'commander';
import { renewGeneration } from '../events/generation.ts';
import type { RunCommand } from './run-command.ts';

/** `event-log renew`: for what the service cannot find out by itself, its own server restored to an earlier time. */
export function addEventLogCommands(program: Command, run: RunCommand): void {
  const eventLog = program.command('event-log').description('the log behind the event streams');

  eventLog
    .command('renew')
    .description('begins a new generation: ids handed out so far are answered with EVENT_HISTORY_EXPIRED')
    .action(() =>
      run(async ({ database }) => {
        const { key } = await renewGeneration(database, true);
        return { generation: key };
      }),
    );
}
