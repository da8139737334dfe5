import { upgradeFolder } from '../platform/db/embedded/upgrade.ts';
import type { AdminCommand } from './command.ts';
import { embeddedFolder } from './connection.ts';
import { showProgress } from './output.ts';

/** `upgrade`. */
export const upgradeCommand: AdminCommand = {
  name: 'upgrade',
  description: 'moves the embedded database, which no server may use meanwhile, to the present PostgreSQL',
  define(command, _run, runWithout) {
    command.action(() =>
      runWithout(async ({ config }) => {
        const { show, clear } = showProgress();
        const strict = config.environment === 'production';
        return upgradeFolder(embeddedFolder(config), { strict, progress: show }).finally(clear);
      }),
    );
  },
};
