import { type Command, Option } from 'commander';
import { endForEveryone, endForOne, type Revocation, revocationOf } from '../../auth/all-accounts.ts';
import { accountToDelete } from '../../auth/revocation.ts';
import type { Database } from '../../database/database.ts';
import { ENDINGS } from '../../features/features.ts';
import type { DefineCommands } from '../cli/connection.ts';
import { inWords } from '../cli/output.ts';

interface Choice {
  readonly name: string;
  /** What ends. */
  readonly words: string;
  readonly revocation: Revocation;
}

/** Ends the credentials of each kind that can end alone, and everything. */
const CHOICES: readonly Choice[] = [
  ...ENDINGS.flatMap(({ alone, words }) =>
    alone === undefined
      ? []
      : {
          name: alone.option,
          words: `${words}, with the stream tokens issued for them`,
          revocation: revocationOf(ENDINGS, alone.option),
        },
  ),
  {
    name: 'everything',
    words: inWords([...ENDINGS.map(({ words }) => words), 'JWTs of other issuers']),
    revocation: { endings: ENDINGS, tokens: true },
  },
];
const NAMES = CHOICES.map(({ name }) => name);

async function revokeChosen(database: Database, { revocation }: Choice, email: string | undefined) {
  if (email === undefined) return endForEveryone(database, revocation);
  // A deletion that was interrupted may have left some of it.
  const { id } = await database.unitOfWork().run((work) => accountToDelete(work, email));
  return endForOne(database, id, revocation);
}

type Given = Readonly<Record<string, string | boolean | undefined>>;

export const defineRevokeAllCommand: DefineCommands = ({ add, run }) => {
  const command = add(
    'revoke-all',
    'ends, at once, what was issued to all accounts or to one; passwords stay',
  );
  for (const { name, words } of CHOICES)
    command.addOption(new Option(`--${name}`, words).conflicts(NAMES.filter((other) => other !== name)));
  command
    .option('--user <email>', 'of this account; default: of all accounts')
    .action(async ({ user, ...given }: { user?: string } & Given, self: Command) => {
      const choice = CHOICES.find(({ name }) => given[name] === true);
      if (choice === undefined)
        self.error(`error: say what is to end: ${NAMES.map((name) => `--${name}`).join(', ')}`);
      await run(({ database }) => revokeChosen(database, choice, user));
    });
};
