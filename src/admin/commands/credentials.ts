import { type Command, Option } from 'commander';
import { findAccount } from '../../auth/accounts.ts';
import { endForEveryone, endForOne, type Revocation, revocationOf } from '../../auth/all-accounts.ts';
import { audit, OPERATOR } from '../../auth/audit.ts';
import type { FixedOperation } from '../../auth/authenticate.ts';
import { isRevocable, revokeToken } from '../../auth/jwt.ts';
import { accountToDelete, type Endings } from '../../auth/revocation.ts';
import { sessionsEnd } from '../../auth/sessions.ts';
import { revokeStreamToken } from '../../auth/stream-tokens.ts';
import type { Database } from '../../database/database.ts';
import { runInPrisma } from '../../database/unit-of-work.ts';
import { isUuid } from '../../platform/ids.ts';
import type { AdminCommand } from '../cli/connection.ts';
import { OLDEST_FIRST } from '../cli/options.ts';
import { AdminError } from '../cli/output.ts';

function endSessions(database: Database, email: string) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const { id } = await findAccount(work, email);
    const [gone] = await work.query(sessionsEnd.all, [[id]]);
    const revoked = gone?.ended ?? 0;
    await audit(work, 'session.revoke', id, { account: id, ended: { sessions: revoked } });
    return { id, revoked };
  });
}

/** Idempotent: revoking a token again succeeds. */
async function endToken(database: Database, jti: string) {
  if (!isRevocable(jti)) throw new AdminError('A jti has 1 to 255 characters.');
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    await revokeToken(work, { jti });
    await audit(work, 'token.revoke', jti);
    return { jti, revoked: true };
  });
}

export const sessionCommands: AdminCommand = {
  name: 'session',
  description: 'manages sessions',
  define(session, run) {
    session
      .command('revoke')
      .description('ends all sessions of an account and prints their number')
      .requiredOption('--user <email>', 'the account')
      .action(({ user }: { user: string }) => run(({ database }) => endSessions(database, user)));
  },
};

export const tokenCommands: AdminCommand = {
  name: 'token',
  description: 'manages JWTs',
  define(token, run) {
    token
      .command('revoke <jti>')
      .description('revokes the token with this jti before it expires')
      // One jti in 64 begins with a hyphen and must not be read as an option.
      .allowUnknownOption()
      .helpOption('--help')
      .action((jti: string) => run(({ database }) => endToken(database, jti)));
  },
};

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

async function revokeChosen(database: Database, { revocation }: Choice, email: string | undefined) {
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
        await run(({ database }) => revokeChosen(database, choice, user));
      });
  },
});

async function list(database: Database) {
  const tokens = await runInPrisma(database, (prisma) =>
    prisma.streamToken.findMany({
      select: {
        id: true,
        user: { select: { email: true } },
        credentialKind: true,
        clientId: true,
        operation: true,
        createdAt: true,
        lastUsedAt: true,
        expiresAt: true,
        endsAt: true,
      },
      orderBy: OLDEST_FIRST,
    }),
  );
  return tokens.map(({ id, user, credentialKind, clientId, operation, ...times }) => {
    const { query, documentId, operationName } = JSON.parse(operation) as FixedOperation;
    const opened = { query, documentId, operationName };
    return { id, user: user.email, credentials: credentialKind, client: clientId, ...opened, ...times };
  });
}

function revokeById(database: Database, id: string) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const account = isUuid(id) ? await revokeStreamToken(work, id) : undefined;
    if (account === undefined)
      throw new AdminError(`There is no stream token with the id "${id}", or it has already ended.`);
    await audit(work, 'stream-token.revoke', id, { account });
    return { id, revoked: true };
  });
}

/** `stream-token list`, `stream-token revoke`. */
export const streamTokenCommands: AdminCommand = {
  name: 'stream-token',
  description: 'manages stream tokens',
  define(streamToken, run) {
    streamToken
      .command('list')
      .description('lists the tokens and what they open, oldest first')
      .action(() => run(({ database }) => list(database)));

    streamToken
      .command('revoke <id>')
      .description('ends a token with its open streams')
      .action((id: string) => run(({ database }) => revokeById(database, id)));
  },
};
