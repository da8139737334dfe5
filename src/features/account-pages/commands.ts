import type { DefineCommands, Opened } from '../../admin/cli/connection.ts';
import { parseRole } from '../../admin/cli/options.ts';
import type { NewAccount } from '../../auth/accounts.ts';
import { OPERATOR } from '../../auth/audit.ts';
import { accountToChange } from '../../auth/revocation.ts';
import { ownOrigin } from '../../platform/config/config.ts';
import { type IssuedLink, invite, recordedLink } from './links.ts';
import { linkAddress } from './paths.ts';

const shown = ({ config }: Opened, id: string, { token, expiresAt }: IssuedLink) => ({
  id,
  link: linkAddress(config.publicUrl ?? ownOrigin(config), token),
  expiresAt,
});

async function sendInvitation(opened: Opened, email: string, options: Pick<NewAccount, 'name' | 'role'>) {
  const { id, link } = await opened.database
    .unitOfWork({ author: OPERATOR })
    .run((work) => invite(work, 'user.invite', { email, ...options }));
  return shown(opened, id, link);
}

const sendResetLink = (opened: Opened, email: string) =>
  opened.database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const id = await accountToChange(work, email);
    return shown(opened, id, await recordedLink(work, 'user.create-reset-link', id, 'reset'));
  });

export const defineLinkCommands: DefineCommands = ({ command }) => {
  command(
    'user invite <email>',
    'Create an account and print a link to set its password within a day',
    sendInvitation,
  )
    .requiredOption('--name <name>', '1 to 100 characters')
    .option('--role <role>', 'member or admin', parseRole, 'member');
  command(
    'user create-reset-link <email>',
    'Print a link to set a new password within a day, and revoke earlier links',
    sendResetLink,
  );
};
