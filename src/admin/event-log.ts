import type { Command } from 'commander';
import { renewGeneration } from '../events/generation.ts';
import type { RunCommand } from './run-command.ts';

/** `event-log renew`: for a server restored to an earlier time, which the service cannot detect. */
export function addEventLogCommands(program: Command, run: RunCommand): void {
  const eventLog = program.command('event-log').description('manages the log behind the event streams');

  eventLog
    .command('renew')
    .description('starts a new generation: all earlier event ids are answered with EVENT_HISTORY_EXPIRED')
    .action(() =>
      run(async ({ database }) => {
        const { key } = await renewGeneration(database, true);
        return { generation: key };
      }),
    );
}
