import type { Command } from 'commander';
import { findAccount } from '../auth/account/store.ts';
import { createOAuthClient, deleteOAuthClient, type Grant } from '../auth/oauth/clients.ts';
import type { Scope } from '../auth/scopes.ts';
import type { PrismaClient } from '../generated/prisma/client.ts';
import { isUuid } from '../platform/uuid.ts';
import { burstOption, parseCredentialName, parseGrants, parseScopes, perSecondOption } from './options.ts';
import { AdminError } from './output.ts';
import type { RunCommand } from './run-command.ts';

interface CreateOptions {
  readonly owner: string;
  readonly name: string;
  readonly grants: readonly Grant[];
  readonly scopes: readonly Scope[];
  readonly redirectUri?: readonly string[];
  readonly public?: boolean;
  readonly burst?: number;
  readonly perSecond?: number;
}

async function create(prisma: PrismaClient, { owner, redirectUri = [], ...options }: CreateOptions) {
  const { id, role, disabledAt } = await findAccount(prisma, owner);
  if (disabledAt !== null)
    throw new AdminError(`The account "${owner}" is disabled: none of its clients work.`);
  return createOAuthClient(prisma, {
    ...options,
    owner: { id, role },
    redirectUris: redirectUri,
    public: options.public ?? false,
  });
}

async function list(prisma: PrismaClient) {
  const clients = await prisma.oAuthClient.findMany({
    select: {
      id: true,
      name: true,
      grants: true,
      scopes: true,
      redirectUris: true,
      secretHash: true,
      createdAt: true,
      owner: { select: { email: true } },
    },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  return clients.map(({ id, owner, secretHash, redirectUris, ...client }) => ({
    client_id: id,
    ...client,
    redirect_uris: redirectUris,
    public: secretHash === null,
    owner: owner.email,
  }));
}

async function remove(prisma: PrismaClient, id: string) {
  if (!isUuid(id) || !(await deleteOAuthClient(prisma, id)))
    throw new AdminError(`There is no OAuth client with the id "${id}".`);
  return { client_id: id, deleted: true };
}

/** Collects an option that may be repeated. */
const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** `oauth-client create`, `oauth-client list`, `oauth-client delete`. */
export function addOAuthClientCommands(program: Command, run: RunCommand): void {
  const client = program.command('oauth-client').description('manages OAuth 2.0 clients');

  client
    .command('create')
    .description('creates a client and prints its secret; it is not shown again')
    .requiredOption('--owner <email>', 'the account that owns the client, which acts for it without a user')
    .requiredOption('--name <name>', 'the name shown to users', parseCredentialName)
    .requiredOption(
      '--grants <grants>',
      'client_credentials, authorization_code, refresh_token, separated by spaces',
      parseGrants,
    )
    .requiredOption('--scopes <scopes>', 'the scopes that it may request, separated by spaces', parseScopes)
    .option('--redirect-uri <url>', 'where users are redirected after signing in; repeatable', collect)
    .option('--public', 'a public client, which has no secret')
    .addOption(burstOption())
    .addOption(perSecondOption())
    .action((options: CreateOptions) => run(({ database }) => create(database.prisma, options)));

  client
    .command('list')
    .description('lists the clients without their secrets, oldest first')
    .action(() => run(({ database }) => list(database.prisma)));

  client
    .command('delete <id>')
    .description('deletes a client and revokes all its tokens')
    .action((id: string) => run(({ database }) => remove(database.prisma, id)));
}
