import { type Command, Option } from 'commander';
import { endForEveryone, endForOne, type Revocation, revocationOf } from '../../auth/all-accounts.ts';
import { accountToDelete } from '../../auth/revocation.ts';
import type { Database } from '../../database/database.ts';
import { ENDINGS } from '../../features/features.ts';
import type { DefineCommands } from '../cli/connection.ts';
import { inWords } from '../cli/output.ts';

interface Choice {
  /** The option that chooses it, without hyphens before it. */
  readonly name: string;
  /** What is revoked. */
  readonly words: string;
  readonly revocation: Revocation;
}

/** Revokes the credentials of each kind that can be revoked alone, or all credentials. */
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
    name: 'all',
    words: inWords([...ENDINGS.map(({ words }) => words), 'JWTs of other issuers']),
    revocation: { endings: ENDINGS, tokens: true },
  },
];
const NAMES = CHOICES.map(({ name }) => name);
const OPTIONS = new Intl.ListFormat('en-GB', { type: 'disjunction' });

async function revokeChosen(database: Database, { revocation }: Choice, email: string | undefined) {
  if (email === undefined) return endForEveryone(database, revocation);
  // A deletion that was interrupted may have left some of it.
  const { id } = await database.unitOfWork().run((work) => accountToDelete(work, email));
  return endForOne(database, id, revocation);
}

type Given = Readonly<Record<string, string | boolean | undefined>>;

const optionOf = ({ name, words }: Choice): Option => new Option(`--${name}`, words);
/** The name by which the parser has the value of an option. */
const keyOf = (choice: Choice): string => optionOf(choice).attributeName();

export const defineRevokeCommand: DefineCommands = ({ add, run }) => {
  add('credential', 'Revoke what was issued to accounts');
  const command = add(
    'credential revoke',
    'Revoke credentials of all accounts or of one account; passwords stay valid',
  );
  for (const choice of CHOICES)
    command.addOption(optionOf(choice).conflicts(CHOICES.filter((other) => other !== choice).map(keyOf)));
  command
    .option('--user <email>', 'email address of the account; default: all accounts')
    .action(async ({ user, ...given }: { user?: string } & Given, self: Command) => {
      const choice = CHOICES.find((one) => given[keyOf(one)] === true);
      if (choice === undefined)
        self.error(`error: specify what to revoke: ${OPTIONS.format(NAMES.map((name) => `--${name}`))}`);
      await run(({ database }) => revokeChosen(database, choice, user));
    });
};
