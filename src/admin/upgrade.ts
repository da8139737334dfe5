import { upgradeFolder } from '../platform/db/embedded/upgrade.ts';
import type { AdminCommand } from './command.ts';
import { embeddedFolder } from './connection.ts';
import { showProgress } from './progress.ts';

/** `upgrade`. */
export const upgradeCommand: AdminCommand = {
  name: 'upgrade',
  description: 'moves the embedded database, which no server may use meanwhile, to the present PostgreSQL',
  define(command, _run, runWithout) {
    command.action(() =>
      runWithout(async ({ config }) => {
        const { step, end } = showProgress(process.stderr);
        const strict = config.environment === 'production';
        return upgradeFolder(embeddedFolder(config), { strict, progress: step }).finally(end);
      }),
    );
  },
};
