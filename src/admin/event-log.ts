import type { Command } from 'commander';
import { renewLog } from '../events/log-state.ts';
import type { RunCommand } from './run-command.ts';

/** `event-log renew`: for a restore that has left out events. */
export function addEventLogCommands(program: Command, run: RunCommand): void {
  const eventLog = program.command('event-log').description('manages the log behind the event streams');

  eventLog
    .command('renew')
    .description('begins the log anew: all earlier event ids are answered with EVENT_HISTORY_EXPIRED')
    .action(() =>
      run(async ({ database }) => {
        const { first } = await renewLog(database);
        return { beginning: first.mark };
      }),
    );
}
