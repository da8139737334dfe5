import { audit, OPERATOR } from '../audit/audit.ts';
import type { FixedOperation } from '../auth/authenticate.ts';
import { revokeStreamToken } from '../auth/stream-token/store.ts';
import type { Database } from '../platform/db/database.ts';
import { runInPrisma } from '../platform/db/unit-of-work.ts';
import { isUuid } from '../platform/uuid.ts';
import type { AdminCommand } from './command.ts';
import { OLDEST_FIRST } from './options.ts';
import { AdminError } from './output.ts';

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

function revoke(database: Database, id: string) {
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
      .action((id: string) => run(({ database }) => revoke(database, id)));
  },
};
