import type { AdminCommand } from '../../admin/cli/connection.ts';
import {
  burstOption,
  documentsOption,
  OLDEST_FIRST,
  parseCredentialName,
  parseNames,
  parseScopes,
  perSecondOption,
  withoutUnset,
} from '../../admin/cli/options.ts';
import { AdminError } from '../../admin/cli/output.ts';
import { findAccount } from '../../auth/accounts.ts';
import { audit, OPERATOR } from '../../auth/audit.ts';
import type { StricterDocuments } from '../../auth/principal.ts';
import type { Scope } from '../../auth/scopes.ts';
import type { Database } from '../../database/database.ts';
import { runInPrisma } from '../../database/unit-of-work.ts';
import type { Config } from '../../platform/config/config.ts';
import { isUuid } from '../../platform/ids.ts';
import { createOAuthClient, deleteOAuthClient, GRANTS, type Grant } from './clients.ts';
import { dropSigningKey, listSigningKeys, rotateSigningKey, sealerOf, signerOf } from './signing-keys.ts';

/** OAuth grants (RFC 6749 section 1.3), separated by spaces or commas. */
const parseGrants = (text: string): readonly Grant[] => parseNames(text, GRANTS, ['Grants', 'grant']);

interface CreateOptions {
  readonly owner: string;
  readonly name: string;
  readonly grants: readonly Grant[];
  readonly scopes: readonly Scope[];
  readonly redirectUri?: readonly string[];
  readonly public?: boolean;
  readonly burst?: number;
  readonly perSecond?: number;
  readonly documents?: StricterDocuments;
}

async function create(database: Database, { owner, redirectUri = [], ...options }: CreateOptions) {
  const { id, role, disabledAt } = await findAccount(database, owner);
  if (disabledAt !== null)
    throw new AdminError(`The account "${owner}" is disabled: none of its clients work.`);
  const wanted = {
    ...options,
    owner: { id, role },
    redirectUris: redirectUri,
    public: options.public ?? false,
  };
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const made = await createOAuthClient(work, wanted);
    const { grants, scopes } = wanted;
    await audit(work, 'oauth-client.create', made.client_id, { account: id, grants, scopes });
    return made;
  });
}

async function listClients(database: Database) {
  const clients = await runInPrisma(database, (prisma) =>
    prisma.oAuthClient.findMany({
      omit: { ownerId: true },
      include: { owner: { select: { email: true } } },
      orderBy: OLDEST_FIRST,
    }),
  );
  return clients.map(({ id, redirectUris, secretHash, owner, ...client }) =>
    withoutUnset({
      client_id: id,
      ...client,
      redirect_uris: redirectUris,
      public: secretHash === null,
      owner: owner.email,
    }),
  );
}

function remove(database: Database, id: string) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const account = isUuid(id) ? await deleteOAuthClient(work, id) : undefined;
    if (account === undefined) throw new AdminError(`There is no OAuth client with the id "${id}".`);
    await audit(work, 'oauth-client.delete', id, { account });
    return { client_id: id, deleted: true };
  });
}

/** Collects an option that may be repeated. */
const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** `oauth-client create`, `oauth-client list`, `oauth-client delete`. */
export const oauthClientCommands: AdminCommand = {
  name: 'oauth-client',
  description: 'manages OAuth 2.0 clients',
  define(client, run) {
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
      .addOption(documentsOption())
      .action((options: CreateOptions) => run(({ database }) => create(database, options)));

    client
      .command('list')
      .description('lists the clients without their secrets, oldest first')
      .action(() => run(({ database }) => listClients(database)));

    client
      .command('delete <id>')
      .description('deletes a client and revokes all its tokens')
      .action((id: string) => run(({ database }) => remove(database, id)));
  },
};

async function listKeys(database: Database, config: Config) {
  const keys = await listSigningKeys(database, sealerOf(config));
  const signer = signerOf(keys);
  return keys.map(({ id, createdAt, signsFrom, usable }) => ({
    id,
    createdAt,
    signsFrom,
    signs: id === signer?.id,
    usable,
  }));
}

function rotate(database: Database, config: Config) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const made = await rotateSigningKey(work, sealerOf(config));
    await audit(work, 'signing-key.rotate', made.id);
    return made;
  });
}

function drop(database: Database, id: string) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    if (!(await dropSigningKey(work, id))) throw new AdminError(`There is no signing key "${id}".`);
    await audit(work, 'signing-key.drop', id);
    return { id, dropped: true };
  });
}

/** `signing-key rotate`, `signing-key list`, `signing-key drop`. */
export const signingKeyCommands: AdminCommand = {
  name: 'signing-key',
  description: 'manages the keys that sign OAuth access tokens',
  define(key, run) {
    key
      .command('rotate')
      .description(
        'creates a key that takes over in ten seconds; earlier tokens stay valid until they expire',
      )
      .action(() => run(({ database, config }) => rotate(database, config)));

    key
      .command('list')
      .description('lists the keys in signing order')
      .action(() => run(({ database, config }) => listKeys(database, config)));

    key
      .command('drop <id>')
      .description(
        'removes a compromised key; within a minute, tokens that it signed are no longer valid; open streams end when these expire',
      )
      .allowUnknownOption()
      .helpOption('--help')
      .action((id: string) => run(({ database }) => drop(database, id)));
  },
};
