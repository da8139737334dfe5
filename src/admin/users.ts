import type { Command } from 'commander';
import { createAccount, disableAccount, findAccount } from '../auth/account/store.ts';
import type { Role } from '../auth/scopes.ts';
import { parseRole } from './options.ts';
import type { RunCommand } from './run-command.ts';

interface CreateOptions {
  readonly name: string;
  readonly email: string;
  readonly password: string;
  readonly role: Role;
}

/** `user create`, `user list`, `user disable`. */
export function addUserCommands(program: Command, run: RunCommand): void {
  const user = program.command('user').description('manages accounts');

  user
    .command('create')
    .description('creates an account')
    .requiredOption('--name <name>', '1 to 100 characters')
    .requiredOption('--email <email>', 'unique, ignoring case')
    .requiredOption('--password <password>', '12 to 200 characters')
    .option('--role <role>', 'member or admin', parseRole, 'member')
    .action((options: CreateOptions) => run(({ database }) => createAccount(database.prisma, options)));

  user
    .command('list')
    .description('lists the accounts, oldest first')
    .action(() =>
      run(({ database }) =>
        database.prisma.user.findMany({
          select: { id: true, name: true, email: true, role: true },
          orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
        }),
      ),
    );

  user
    .command('disable <email>')
    .description('disables an account, which ends all its credentials')
    .action((email: string) =>
      run(async ({ database }) => {
        const { id, disabledAt } = await findAccount(database.prisma, email);
        if (disabledAt === null) await disableAccount(database.prisma, id, new Date());
        return { id, disabled: true };
      }),
    );
}
