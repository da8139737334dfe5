import { findAccount, isIdentifier } from '../../auth/accounts.ts';
import { audit, OPERATOR } from '../../auth/audit.ts';
import type { FixedOperation } from '../../auth/authenticate.ts';
import { revokeToken } from '../../auth/jwt.ts';
import { sessionRevocation } from '../../auth/sessions.ts';
import { revokeStreamToken } from '../../auth/stream-tokens.ts';
import { runInPrisma } from '../../database/unit-of-work.ts';
import { isUuid } from '../../platform/ids.ts';
import type { DefineCommands, Opened } from '../cli/connection.ts';
import { OLDEST_FIRST } from '../cli/options.ts';
import { AdminError } from '../cli/output.ts';

function endSessions({ database }: Opened, { user }: { readonly user: string }) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const { id } = await findAccount(work, user);
    const [row] = await work.query(sessionRevocation.all, [[id]]);
    const revoked = row?.revoked ?? 0;
    await audit(work, 'session.revoke', id, { account: id, revoked: { sessions: revoked } });
    return { id, revoked };
  });
}

/** Revoking a token again succeeds. */
async function endToken({ database }: Opened, jti: string) {
  if (!isIdentifier(jti))
    throw new AdminError(`A jti must have 1 to 255 characters, but has ${jti.length}. Nothing was changed.`);
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    await revokeToken(work, { jti });
    await audit(work, 'jwt.revoke', jti);
    return { jti, revoked: true };
  });
}

async function list({ database }: Opened) {
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
  return tokens.map(({ id, user, credentialKind, clientId, operation, endsAt, ...times }) => {
    const { query, documentId, operationName } = JSON.parse(operation) as FixedOperation;
    const opened = { query, documentId, operationName };
    return {
      id,
      user: user.email,
      credentials: credentialKind,
      client: clientId,
      ...opened,
      ...times,
      maxExpiresAt: endsAt,
    };
  });
}

function revokeById({ database }: Opened, id: string) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const account = isUuid(id) ? await revokeStreamToken(work, id) : undefined;
    if (account === undefined)
      throw new AdminError(
        `Stream token "${id}" does not exist, or has expired or been revoked. Nothing was changed.`,
      );
    await audit(work, 'stream-token.revoke', id, { account });
    return { id, revoked: true };
  });
}

export const defineCredentialCommands: DefineCommands = ({ add, command }) => {
  add('session', 'Manage sessions');
  command(
    'session revoke',
    'Revoke all sessions of an account and print their number',
    endSessions,
  ).requiredOption('--user <email>', 'email address of the account');

  add('jwt', 'Manage JWTs of other issuers');
  // One jti in 64 begins with a hyphen and must not be parsed as an option.
  command('jwt revoke <jti>', 'Revoke the JWT with this jti before the JWT expires', endToken)
    .allowUnknownOption()
    .helpOption('--help');

  add('stream-token', 'Manage stream tokens');
  command('stream-token list', 'List stream tokens and the operations that they open, oldest first', list);
  command('stream-token revoke <id>', 'Revoke a stream token and close its event streams', revokeById);
};
