import type { Command } from 'commander';
import type { FixedOperation } from '../auth/authenticate.ts';
import { revokeStreamToken } from '../auth/stream-token/store.ts';
import type { PrismaClient } from '../generated/prisma/client.ts';
import { isUuid } from '../platform/uuid.ts';
import { AdminError } from './output.ts';
import type { RunCommand } from './run-command.ts';

async function list(prisma: PrismaClient) {
  const tokens = await prisma.streamToken.findMany({
    select: {
      id: true,
      credentialKind: true,
      clientId: true,
      operation: true,
      createdAt: true,
      lastUsedAt: true,
      expiresAt: true,
      endsAt: true,
      user: { select: { email: true } },
    },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  return tokens.map(({ id, user, credentialKind, clientId, operation, ...times }) => {
    const { query, operationName } = JSON.parse(operation) as FixedOperation;
    const behind = { credentials: credentialKind, client: clientId };
    return { id, user: user.email, ...behind, query, operationName, ...times };
  });
}

async function revoke(prisma: PrismaClient, id: string) {
  if (!isUuid(id) || !(await revokeStreamToken(prisma, id)))
    throw new AdminError(`There is no stream token with the id "${id}", or it has already ended.`);
  return { id, revoked: true };
}

/** `stream-token list`, `stream-token revoke`. */
export function addStreamTokenCommands(program: Command, run: RunCommand): void {
  const streamToken = program.command('stream-token').description('manages stream tokens');

  streamToken
    .command('list')
    .description('lists the tokens and what they open, oldest first')
    .action(() => run(({ database }) => list(database.prisma)));

  streamToken
    .command('revoke <id>')
    .description('ends a token with its open streams')
    .action((id: string) => run(({ database }) => revoke(database.prisma, id)));
}
