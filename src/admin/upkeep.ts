import { audit, OPERATOR } from '../audit/audit.ts';
import { renewLog } from '../events/log-state.ts';
import type { AdminCommand } from './command.ts';

/** What `npm run db:migrate` runs. */
export const migrateCommand: AdminCommand = {
  name: 'migrate',
  description: 'applies the pending migrations and prints their names',
  define(command, run) {
    command.action(() =>
      run(
        async ({ database, applied }) => {
          // Each is recorded in its own transaction, too: by the migrations' table, which is older than this log.
          if (applied.length > 0)
            await database
              .unitOfWork({ author: OPERATOR })
              .run((work) => audit(work, 'migrate', null, { applied }));
          return { applied };
        },
        { migrates: true },
      ),
    );
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
          const { first } = await renewLog(database, (transaction, state) =>
            audit({ ...transaction, author: OPERATOR }, 'event-log.renew', null, {
              beginning: state.first.mark,
            }),
          );
          return { beginning: first.mark };
        }),
      );
  },
};
