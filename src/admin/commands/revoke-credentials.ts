import { type Command, Option } from 'commander';
import {
  type RevocationScope,
  revokeForAccount,
  revokeForAllAccounts,
  selectRevocations,
} from '../../auth/all-accounts.ts';
import { accountToDelete } from '../../auth/revocation.ts';
import type { Database } from '../../database/database.ts';
import { REVOCATIONS } from '../../features/features.ts';
import type { DefineCommands } from '../cli/connection.ts';
import { inWords } from '../cli/output.ts';

interface Choice {
  readonly name: string;
  readonly words: string;
  readonly revocation: RevocationScope;
}

const CHOICES: readonly Choice[] = [
  ...REVOCATIONS.flatMap(({ separately, words }) =>
    separately === undefined
      ? []
      : {
          name: separately.option,
          words: `${words}, with the stream tokens issued for them`,
          revocation: selectRevocations(REVOCATIONS, separately.option),
        },
  ),
  {
    name: 'all',
    words: inWords([...REVOCATIONS.map(({ words }) => words), 'JWTs of other issuers']),
    revocation: { revocations: REVOCATIONS, tokens: true },
  },
];
const NAMES = CHOICES.map(({ name }) => name);
const OPTIONS = new Intl.ListFormat('en-GB', { type: 'disjunction' });

async function revokeChosen(database: Database, { revocation }: Choice, email: string | undefined) {
  const { accounts, ended } = await (email === undefined
    ? revokeForAllAccounts(database, revocation)
    : // An interrupted deletion may have left credentials.
      revokeForAccount(
        database,
        (await database.unitOfWork().run((work) => accountToDelete(work, email))).id,
        revocation,
      ));
  return { accounts, revoked: ended };
}

type Given = Readonly<Record<string, string | boolean | undefined>>;

const createOption = ({ name, words }: Choice): Option => new Option(`--${name}`, words);
/** The parser stores the value of an option under its attribute name. */
const getOptionKey = (choice: Choice): string => createOption(choice).attributeName();

export const defineRevokeCommand: DefineCommands = ({ add, run }) => {
  add('credential', 'Revoke what was issued to accounts');
  const command = add(
    'credential revoke',
    'Revoke credentials of all accounts or of one account; passwords stay valid',
  );
  for (const choice of CHOICES)
    command.addOption(
      createOption(choice).conflicts(CHOICES.filter((other) => other !== choice).map(getOptionKey)),
    );
  command
    .option('--user <email>', 'email address of the account; default: all accounts')
    .action(async ({ user, ...given }: { user?: string } & Given, self: Command) => {
      const choice = CHOICES.find((one) => given[getOptionKey(one)] === true);
      if (choice === undefined)
        self.error(`error: specify what to revoke: ${OPTIONS.format(NAMES.map((name) => `--${name}`))}`);
      await run(({ database }) => revokeChosen(database, choice, user));
    });
};
