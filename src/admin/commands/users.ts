import { Option } from 'commander';
import { findAccount, insertAccount, type NewAccount, readyAccount } from '../../auth/accounts.ts';
import { audit, OPERATOR } from '../../auth/audit.ts';
import { accountToExport, exportAccount } from '../../auth/data-export.ts';
import { type IdentityClaims, linkIdentity, unlinkIdentity } from '../../auth/external-identities.ts';
import { hashPassword } from '../../auth/passwords.ts';
import { resetAccountLimits, setAccountLimits } from '../../auth/restriction-store.ts';
import {
  accountToChange,
  disableAccount,
  enableAccount,
  revoke,
  revokeAllCredentials,
  revokeInBatches,
  setPassword,
  setRole,
  sumOf,
} from '../../auth/revocation.ts';
import type { Role } from '../../auth/scopes.ts';
import { runInPrisma, type UnitOfWork } from '../../database/unit-of-work.ts';
import { EXPORT_SECTIONS, PASSWORD_CHANGE_REVOCATIONS, REVOCATIONS } from '../../features/features.ts';
import { ACCOUNT_CONTENT } from '../../schema/account-content.ts';
import type { DefineCommands, Opened } from '../cli/connection.ts';
import {
  addLimitOptions,
  type LimitOptions,
  limitsOf,
  OLDEST_FIRST,
  type PasswordOptions,
  parseIdentifier,
  parseRole,
  passwordStdinOption,
  readPassword,
} from '../cli/options.ts';
import { AdminError, inWords, StreamedText } from '../cli/output.ts';
import { type ContentPolicy, deleteAccount } from './account-deletion.ts';

interface CreateOptions extends PasswordOptions {
  readonly name: string;
  readonly email: string;
  readonly role: Role;
}

async function list({ database }: Opened) {
  const users = await runInPrisma(database, (prisma) =>
    prisma.user.findMany({
      select: { id: true, name: true, email: true, emailKey: true, role: true, disabledAt: true },
      orderBy: OLDEST_FIRST,
    }),
  );
  return users.map(({ emailKey, disabledAt, ...user }) => ({
    ...user,
    email: emailKey === null ? null : user.email,
    disabled: disabledAt !== null,
  }));
}

const ACCOUNT_CHANGE_REVOCATIONS = REVOCATIONS.filter(({ onAccountChange = false }) => onAccountChange);

async function exportAll({ database }: Opened, email: string) {
  return new StreamedText(exportAccount(database, await accountToExport(database, email), EXPORT_SECTIONS));
}

/** `change` returns the detail of the audit entry, which is also printed. */
function changeAccount<Detail extends object>(
  { database }: Opened,
  action: string,
  email: string,
  change: (work: UnitOfWork, id: string) => Promise<Detail>,
) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const id = await accountToChange(work, email);
    const detail = await change(work, id);
    await audit(work, action, id, { account: id, ...detail });
    return { id, ...detail };
  });
}

async function disable(opened: Opened, email: string) {
  const changed = await changeAccount(opened, 'user.disable', email, async (work, id) => {
    await disableAccount(work, id);
    await revoke(work, [id], ACCOUNT_CHANGE_REVOCATIONS);
    return {};
  });
  return { ...changed, disabled: true };
}

async function enable(opened: Opened, email: string) {
  const changed = await changeAccount(opened, 'user.enable', email, async (work, id) => {
    await enableAccount(work, id);
    return {};
  });
  return { ...changed, enabled: true };
}

/** One transaction ensures that no old credential ever works again. */
async function enableWithNothing(opened: Opened, email: string) {
  const { id: found } = await findAccount(opened.database, email);
  const most = await revokeInBatches(opened.database, [found], REVOCATIONS);
  const { id, revoked } = await changeAccount(opened, 'user.enable', email, async (work, account) => {
    const credentials = sumOf(await revokeAllCredentials(work, [account], REVOCATIONS), most);
    await enableAccount(work, account);
    return { revoked: credentials };
  });
  return { id, enabled: true, revoked };
}

async function changePassword(opened: Opened, email: string, password: string) {
  const hash = await hashPassword(password);
  const { id: found } = await findAccount(opened.database, email);
  const most = await revokeInBatches(opened.database, [found], PASSWORD_CHANGE_REVOCATIONS);
  return changeAccount(opened, 'user.set-password', email, async (work, id) => ({
    revoked: sumOf(await setPassword(work, id, hash, PASSWORD_CHANGE_REVOCATIONS), most),
  }));
}

const changeRole = (opened: Opened, email: string, role: Role) =>
  changeAccount(opened, 'user.set-role', email, async (work, id) => {
    await setRole(work, id, role);
    await revoke(work, [id], ACCOUNT_CHANGE_REVOCATIONS);
    return { role };
  });

function setLimits(opened: Opened, email: string, options: LimitOptions) {
  const limits = limitsOf(options);
  return changeAccount(opened, 'user.set-limits', email, (work, id) =>
    limits === undefined ? resetAccountLimits(work, id) : setAccountLimits(work, id, limits),
  );
}

const link = (opened: Opened, email: string, identity: IdentityClaims) =>
  changeAccount(opened, 'user.link', email, async (work, id) => ({
    identity: await linkIdentity(work, id, identity),
    issuer: identity.issuer,
  }));

const unlink = (opened: Opened, email: string, identity: IdentityClaims) =>
  changeAccount(opened, 'user.unlink', email, async (work, id) => {
    const removed = await unlinkIdentity(work, id, identity);
    if (removed === undefined)
      throw new AdminError(
        `Subject "${identity.subject}" of issuer "${identity.issuer}" is not linked to account "${email}". Nothing was changed. Run "user export ${email}" to see the linked identities.`,
      );
    return { identity: removed.id, issuer: removed.issuer };
  });

/** Hashing takes long, and a transaction occupies a connection. */
async function create({ database }: Opened, account: NewAccount) {
  const ready = await readyAccount(database, account);
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const made = await insertAccount(work, ready);
    await audit(work, 'user.create', made.id, { account: made.id, role: account.role });
    return made;
  });
}

export const defineUserCommands: DefineCommands = ({ add, command, run, io }) => {
  add('user', 'Manage accounts');

  const creating = add('user create', 'Create an account; ask for the password unless an option gives it')
    .requiredOption('--name <name>', '1 to 100 characters')
    .requiredOption('--email <email>', 'unique, ignoring case')
    .option('--password <password>', '12 to 200 characters; other users of this machine may see it')
    .addOption(passwordStdinOption().conflicts('password'))
    .option('--role <role>', 'member or admin', parseRole, 'member')
    .action(async ({ name, email, role, ...options }: CreateOptions) => {
      const password = await readPassword(options, creating, io);
      await run((opened) => create(opened, { name, email, role, password }));
    });

  command('user list', 'List accounts, oldest first', list);
  command(
    'user export <email>',
    'Print all data of an account as JSON, without secrets and without data of other accounts',
    exportAll,
  );
  command(
    'user disable <email>',
    'Disable an account and reject all its credentials until you enable the account',
    disable,
  );
  command(
    'user enable <email>',
    'Enable a disabled account and accept its credentials again',
    (opened, email: string, { revokeCredentials = false }: { readonly revokeCredentials?: boolean }) =>
      revokeCredentials ? enableWithNothing(opened, email) : enable(opened, email),
  ).option('--revoke-credentials', 'Revoke all credentials of the account before enabling the account');

  const signedIn = inWords(PASSWORD_CHANGE_REVOCATIONS.map(({ words }) => words));
  const changing = add('user set-password <email>', `Set a password and revoke ${signedIn}, but no API keys`)
    .addOption(passwordStdinOption())
    .action(async (email: string, options: PasswordOptions) => {
      const password = await readPassword(options, changing, io);
      await run((opened) => changePassword(opened, email, password));
    });

  command(
    'user set-role <email>',
    'Set the role of an account, for all its credentials',
    changeRole,
  ).argument('<role>', 'member or admin', parseRole);
  addLimitOptions(
    command(
      'user set-limits <email>',
      'Set the rate limit of an account, shared by all its credentials',
      setLimits,
    ),
  );

  for (const [usage, about, change] of [
    ['user link <email>', 'Let the JWTs of a subject at an external issuer act for an account', link],
    [
      'user unlink <email>',
      'Unlink a subject and revoke the JWTs that the account has used until now',
      unlink,
    ],
  ] as const)
    command(usage, about, change)
      .requiredOption('--issuer <url>', 'the claim iss of the JWTs, to the last character', parseIdentifier)
      .requiredOption('--subject <subject>', 'the claim sub of the JWTs', parseIdentifier);

  const { name: option, description } = ACCOUNT_CONTENT.option;
  command(
    'user delete <email>',
    'Delete an account permanently; repeat the command if it was interrupted',
    ({ database }, email: string, { [option]: content = 'keep' }: Readonly<Record<string, ContentPolicy>>) =>
      deleteAccount(database, email, content),
  ).addOption(
    new Option(`--${option} <${option}>`, description).choices(['keep', 'delete']).makeOptionMandatory(),
  );
};
