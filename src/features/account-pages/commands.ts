import type { AdminCommand, Opened } from '../../admin/cli/connection.ts';
import { parseRole } from '../../admin/cli/options.ts';
import { OPERATOR } from '../../auth/audit.ts';
import { accountToChange } from '../../auth/revocation.ts';
import type { Role } from '../../auth/scopes.ts';
import { ownOrigin } from '../../platform/config/config.ts';
import { type IssuedLink, invite, recordedLink } from './links.ts';
import { linkAddress } from './paths.ts';

const shown = ({ config }: Opened, id: string, { token, expiresAt }: IssuedLink) => ({
  id,
  link: linkAddress(config.publicUrl ?? ownOrigin(config), token),
  expiresAt,
});

/** What the group of commands for accounts gets from this feature: `user invite` and `user reset-link`. */
export const linkCommands: AdminCommand = {
  name: 'user',
  description: 'manages accounts',
  define(user, run) {
    user
      .command('invite <email>')
      .description('creates an account, and prints a link by which its owner sets the password within a day')
      .requiredOption('--name <name>', '1 to 100 characters')
      .option('--role <role>', 'member or admin', parseRole, 'member')
      .action((email: string, { name, role }: { name: string; role: Role }) =>
        run(async (opened) => {
          const { id, link } = await opened.database
            .unitOfWork({ author: OPERATOR })
            .run((work) => invite(work, 'user.invite', { name, email, role }));
          return shown(opened, id, link);
        }),
      );

    user
      .command('reset-link <email>')
      .description(
        'prints a link by which the owner of an account sets a new password within a day; earlier links end',
      )
      .action((email: string) =>
        run((opened) =>
          opened.database.unitOfWork({ author: OPERATOR }).run(async (work) => {
            const id = await accountToChange(work, email);
            return shown(opened, id, await recordedLink(work, 'user.reset-link', id, 'reset'));
          }),
        ),
      );
  },
};
