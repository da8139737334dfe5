import { resolve } from 'node:path';
import type { Endings } from '../../auth/revocation.ts';
import type { AdminCommand } from '../cli/connection.ts';
import { showProgress } from '../cli/output.ts';
import { backUp } from './back-up.ts';
import { restore } from './restore.ts';

/** `backup`, of either database. */
export const backupCommand: AdminCommand = {
  name: 'backup',
  description: 'writes a backup of the database, even while a server uses it',
  define(command, _run, runWithout, io) {
    command
      .argument('<file>', 'a new file; others of this machine cannot read it')
      .option('--without-secret-key', 'leaves out the secret that OAuth signing keys are sealed under')
      .action(async (name: string, { withoutSecretKey = false }: { withoutSecretKey?: boolean }) => {
        const file = await io.input('file', async () => resolve(name));
        await runWithout(
          (given) =>
            backUp({
              ...given,
              file,
              withSecretKey: !withoutSecretKey,
              progress: showProgress(given.io.stderr),
            }),
          { relayed: true },
        );
      });
  },
};

/** `restore`, with what was issued to accounts, which works again in a restored database unless it ends. */
export const restoreCommand = (endings: Endings): AdminCommand => ({
  name: 'restore',
  description: 'restores a backup into an empty DATA_DIR or PostgreSQL; ends what was signed in to',
  define(command, _run, runWithout) {
    command
      .argument('<file>', 'what "backup" has written')
      .option('--revoke-keys', 'revokes all API keys; otherwise those that work are listed')
      .action((file: string, { revokeKeys = false }: { revokeKeys?: boolean }) =>
        runWithout((given) =>
          restore({ ...given, file, revokeKeys, endings, progress: showProgress(given.io.stderr) }),
        ),
      );
  },
});
