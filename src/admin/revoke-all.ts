import { type Command, Option } from 'commander';
import { accountToDelete, type Endings } from '../auth/account/endings.ts';
import { endForEveryone, endForOne, type Revocation, revocationOf } from '../auth/account/everyone.ts';
import type { Database } from '../platform/db/database.ts';
import type { AdminCommand } from './command.ts';

interface Choice {
  readonly name: string;
  /** What ends. */
  readonly words: string;
  readonly revocation: Revocation;
}

const inWords = (words: readonly string[]) => new Intl.ListFormat('en-GB').format(words);

/** One for each kind that can end alone, and one for everything. */
function choicesOf(endings: Endings): readonly Choice[] {
  const alone = endings.flatMap(({ alone, words }) =>
    alone === undefined
      ? []
      : [
          {
            name: alone.option,
            words: `${words}, with the stream tokens issued for them`,
            revocation: revocationOf(endings, alone.option),
          },
        ],
  );
  const everything = {
    name: 'everything',
    words: inWords([...endings.map(({ words }) => words), 'JWTs of other issuers']),
    revocation: { endings, tokens: true },
  };
  return [...alone, everything];
}

async function revoke(database: Database, { revocation }: Choice, email: string | undefined) {
  if (email === undefined) return endForEveryone(database, revocation);
  // A deletion that was interrupted may have left some of it.
  const { id } = await database.unitOfWork().run((work) => accountToDelete(work, email));
  return endForOne(database, id, revocation);
}

type Given = Readonly<Record<string, string | boolean | undefined>>;

/** `revoke-all`, with the `endings` of the product. */
export const revokeAllCommand = (endings: Endings): AdminCommand => ({
  name: 'revoke-all',
  description: 'ends, at once, what was issued to all accounts or to one; passwords stay',
  define(command, run) {
    const choices = choicesOf(endings);
    const names = choices.map(({ name }) => name);
    for (const { name, words } of choices) {
      const others = names.filter((other) => other !== name);
      command.addOption(new Option(`--${name}`, words).conflicts(others));
    }
    command
      .option('--user <email>', 'of this account; default: of all accounts')
      .action(async ({ user, ...given }: { user?: string } & Given, self: Command) => {
        const choice = choices.find(({ name }) => given[name] === true);
        if (choice === undefined)
          self.error(`error: say what is to end: ${names.map((name) => `--${name}`).join(', ')}`);
        await run(({ database }) => revoke(database, choice, user));
      });
  },
});
