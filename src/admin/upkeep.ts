import { renewLog } from '../events/log-state.ts';
import type { AdminCommand } from './command.ts';

/** What `npm run db:migrate` runs. */
export const migrateCommand: AdminCommand = {
  name: 'migrate',
  description: 'applies the pending migrations and prints their names',
  define(command, run) {
    command.action(() => run(async ({ applied }) => ({ applied }), { migrates: true }));
  },
};

/** For a restore that has left out events. */
export const eventLogCommands: AdminCommand = {
  name: 'event-log',
  description: 'manages the log behind the event streams',
  define(eventLog, run) {
    eventLog
      .command('renew')
      .description('begins the log anew: all earlier event ids are answered with EVENT_HISTORY_EXPIRED')
      .action(() =>
        run(async ({ database }) => {
          const { first } = await renewLog(database);
          return { beginning: first.mark };
        }),
      );
  },
};
