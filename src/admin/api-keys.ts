import type { Command } from 'commander';
import { findAccount } from '../auth/account/store.ts';
import { createApiKeyWithinLimit, revokeApiKey } from '../auth/api-key/store.ts';
import { type Scope, scopesOfRole } from '../auth/scopes.ts';
import type { PrismaClient } from '../generated/prisma/client.ts';
import type { Database } from '../platform/db/database.ts';
import { isUuid } from '../platform/uuid.ts';
import { burstOption, parseCredentialName, parseExpiry, parseScopes, perSecondOption } from './options.ts';
import { AdminError } from './output.ts';
import type { RunCommand } from './run-command.ts';

interface CreateOptions {
  readonly user: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expires?: Date;
  readonly burst?: number;
  readonly perSecond?: number;
}

async function create(database: Database, options: CreateOptions) {
  const { user, name, scopes, expires, burst, perSecond } = options;
  const { id, role, disabledAt } = await findAccount(database.prisma, user);
  if (disabledAt !== null) throw new AdminError(`The account "${user}" is disabled: its keys are all dead.`);
  const held = scopesOfRole(role);
  const beyond = scopes.filter((scope) => !held.includes(scope));
  // A key never has more than its account (contract section 3): better said now than found out by its first user.
  if (beyond.length > 0)
    throw new AdminError(`The account "${user}" is a ${role} and cannot hold ${beyond.join(', ')}.`);
  const work = database.unitOfWork();
  try {
    const wanted = { userId: id, name, scopes, expiresAt: expires, burst, perSecond };
    const made = await createApiKeyWithinLimit(work, wanted);
    await work.commit();
    return made;
  } catch (error) {
    await work.rollback();
    throw error;
  }
}

async function list(prisma: PrismaClient) {
  const keys = await prisma.apiKey.findMany({
    select: {
      id: true,
      name: true,
      prefix: true,
      scopes: true,
      createdAt: true,
      lastUsedAt: true,
      expiresAt: true,
      revokedAt: true,
      user: { select: { email: true } },
    },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  return keys.map(({ user, ...key }) => ({ ...key, user: user.email }));
}

async function revoke(prisma: PrismaClient, id: string) {
  if (!isUuid(id) || !(await revokeApiKey(prisma, id)))
    throw new AdminError(`There is no API key with the id "${id}", or it is revoked already.`);
  return { id, revoked: true };
}

/** `api-key create`, `api-key list`, `api-key revoke`. */
export function addApiKeyCommands(program: Command, run: RunCommand): void {
  const apiKey = program.command('api-key').description('API keys');

  apiKey
    .command('create')
    .description('makes a key and prints it, this once')
    .requiredOption('--user <email>', 'the account that it belongs to')
    .requiredOption('--name <name>', 'what it is for', parseCredentialName)
    .requiredOption('--scopes <scopes>', 'what it allows, apart by spaces', parseScopes)
    .option('--expires <time>', 'ISO 8601; without it, valid until revoked', parseExpiry)
    .addOption(burstOption())
    .addOption(perSecondOption())
    .action((options: CreateOptions) => run(({ database }) => create(database, options)));

  apiKey
    .command('list')
    .description('lists the keys, the oldest first, without what is secret of them')
    .action(() => run(({ database }) => list(database.prisma)));

  apiKey
    .command('revoke <id>')
    .description('ends a key for good')
    .action((id: string) => run(({ database }) => revoke(database.prisma, id)));
}
