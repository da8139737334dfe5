import { type Command, Option } from 'commander';
import { findAccount, insertAccount, type NewAccount, readyAccount } from '../../auth/accounts.ts';
import { audit, OPERATOR } from '../../auth/audit.ts';
import {
  type AccountContent,
  accountToExport,
  exportAccount,
  type StoredPart,
} from '../../auth/data-export.ts';
import { hashPassword } from '../../auth/passwords.ts';
import { resetAccountLimits, setAccountLimits } from '../../auth/restriction-store.ts';
import {
  accountToChange,
  disableAccount,
  type Endings,
  enableAccount,
  end,
  endAllCredentials,
  endMost,
  setPassword,
  setRole,
  sumOf,
} from '../../auth/revocation.ts';
import type { Role } from '../../auth/scopes.ts';
import type { Database } from '../../database/database.ts';
import { runInPrisma } from '../../database/unit-of-work.ts';
import type { AdminCommand } from '../cli/connection.ts';
import {
  type LimitOptions,
  limitOptions,
  limitsOf,
  OLDEST_FIRST,
  type PasswordOptions,
  parseRole,
  passwordStdinOption,
  readPassword,
} from '../cli/options.ts';
import { StreamedText } from '../cli/output.ts';
import { deleteAccount, type Fate } from './account-deletion.ts';

interface CreateOptions extends PasswordOptions {
  readonly name: string;
  readonly email: string;
  readonly role: Role;
}

async function list(database: Database) {
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

/** What ends when an account's standing changes, such as when it is disabled. */
const ofStanding = (endings: Endings) => endings.filter(({ ofStanding: ends = false }) => ends);

function disable(database: Database, endings: Endings, email: string) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const id = await accountToChange(work, email);
    await disableAccount(work, id);
    await end(work, [id], ofStanding(endings));
    await audit(work, 'user.disable', id, { account: id });
    return { id, disabled: true };
  });
}

function enable(database: Database, email: string) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const id = await accountToChange(work, email);
    await enableAccount(work, id);
    await audit(work, 'user.enable', id, { account: id });
    return { id, enabled: true };
  });
}

/** There is no moment at which the account is enabled and has what it had before. */
async function enableWithNothing(database: Database, endings: Endings, email: string) {
  const { id: found } = await findAccount(database, email);
  const most = await endMost(database, [found], endings);
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const id = await accountToChange(work, email);
    const ended = sumOf(await endAllCredentials(work, [id], endings), most);
    await enableAccount(work, id);
    await audit(work, 'user.enable', id, { account: id, ended });
    return { id, enabled: true, ended };
  });
}

async function changePassword(database: Database, signedIn: Endings, email: string, password: string) {
  const hash = await hashPassword(password);
  const { id: found } = await findAccount(database, email);
  const most = await endMost(database, [found], signedIn);
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const id = await accountToChange(work, email);
    const ended = sumOf(await setPassword(work, id, hash, signedIn), most);
    await audit(work, 'user.set-password', id, { account: id, ended });
    return { id, ended };
  });
}

function changeRole(database: Database, endings: Endings, email: string, role: Role) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const id = await accountToChange(work, email);
    await setRole(work, id, role);
    await end(work, [id], ofStanding(endings));
    await audit(work, 'user.set-role', id, { account: id, role });
    return { id, role };
  });
}

function setLimits(database: Database, email: string, limits: ReturnType<typeof limitsOf>) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const id = await accountToChange(work, email);
    const set = await (limits === undefined
      ? resetAccountLimits(work, id)
      : setAccountLimits(work, id, limits));
    await audit(work, 'user.set-limits', id, { account: id, ...set });
    return { id, ...set };
  });
}

/** Nothing is held while the password is hashed. */
async function create(database: Database, account: NewAccount) {
  const ready = await readyAccount(database, account);
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const made = await insertAccount(work, ready);
    await audit(work, 'user.create', made.id, { account: made.id, role: account.role });
    return made;
  });
}

const inWords = (endings: Endings) => new Intl.ListFormat('en-GB').format(endings.map(({ words }) => words));

/**
 * `user create`, `user list`, `user export` of what is `stored`, and what changes an account, with which `endings` end, and
 * `signedIn` with its password.
 */
export const userCommands = (
  endings: Endings,
  signedIn: Endings,
  stored: readonly StoredPart[],
  content: AccountContent,
): AdminCommand => ({
  name: 'user',
  description: 'manages accounts',
  define(user, run, _runWithout, io) {
    const { name: fateOption } = content.option;
    user
      .command('create')
      .description('creates an account; asks for its password unless an option gives it')
      .requiredOption('--name <name>', '1 to 100 characters')
      .requiredOption('--email <email>', 'unique, ignoring case')
      .option('--password <password>', '12 to 200 characters; other users of this machine may see it')
      .addOption(passwordStdinOption().conflicts('password'))
      .option('--role <role>', 'member or admin', parseRole, 'member')
      .action(async ({ name, email, role, ...options }: CreateOptions, command: Command) => {
        const password = await readPassword(options, command, io);
        await run(({ database }) => create(database, { name, email, role, password }));
      });

    user
      .command('list')
      .description('lists the accounts, oldest first')
      .action(() => run(({ database }) => list(database)));

    user
      .command('export <email>')
      .description(
        'prints all that is stored about an account, without secrets and without what is of others',
      )
      .action((email: string) =>
        run(
          async ({ database }) =>
            new StreamedText(exportAccount(database, await accountToExport(database, email), stored)),
        ),
      );

    user
      .command('disable <email>')
      .description('disables an account: none of its credentials work until it is enabled')
      .action((email: string) => run(({ database }) => disable(database, endings, email)));

    user
      .command('enable <email>')
      .description('enables a disabled account: its credentials work again')
      .option('--revoke', 'ends everything that was issued to it before, in the same transaction')
      .action((email: string, { revoke = false }: { revoke?: boolean }) =>
        run(({ database }) =>
          revoke ? enableWithNothing(database, endings, email) : enable(database, email),
        ),
      );

    user
      .command('set-password <email>')
      .description(`sets a password; ends ${inWords(signedIn)}, but no API keys`)
      .addOption(passwordStdinOption())
      .action(async (email: string, options: PasswordOptions, command: Command) => {
        const password = await readPassword(options, command, io);
        await run(({ database }) => changePassword(database, signedIn, email, password));
      });

    user
      .command('set-role <email>')
      .description('sets the role, for all credentials at once')
      .argument('<role>', 'member or admin', parseRole)
      .action((email: string, role: Role) =>
        run(({ database }) => changeRole(database, endings, email, role)),
      );

    const limiting = user
      .command('set-limits <email>')
      .description('sets how many requests all credentials of an account may make, and each of them')
      .action((email: string, options: LimitOptions, command: Command) => {
        const limits = limitsOf(options, command);
        return run(({ database }) => setLimits(database, email, limits));
      });
    for (const option of limitOptions()) limiting.addOption(option);

    user
      .command('delete <email>')
      .description('deletes an account for good; run it again if it was interrupted')
      .addOption(
        new Option(`--${fateOption} <${fateOption}>`, content.option.description)
          .choices(['keep', 'delete'])
          .makeOptionMandatory(),
      )
      .action((email: string, { [fateOption]: fate = 'keep' }: Readonly<Record<string, Fate>>) =>
        run(({ database }) => deleteAccount(database, endings, email, { fate, content })),
      );
  },
});
