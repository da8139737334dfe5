import type { DefineCommands, Opened } from '../../admin/cli/connection.ts';
import {
  addOverrideOptions,
  OLDEST_FIRST,
  parseCredentialName,
  parseNames,
  withoutUnset,
} from '../../admin/cli/options.ts';
import { AdminError } from '../../admin/cli/output.ts';
import { findAccount } from '../../auth/accounts.ts';
import { audit, OPERATOR } from '../../auth/audit.ts';
import { type ClientScope, IDENTITY_SCOPES, SCOPES } from '../../auth/scopes.ts';
import { runInPrisma } from '../../database/unit-of-work.ts';
import { isUuid } from '../../platform/ids.ts';
import {
  createOAuthClient,
  deleteOAuthClient,
  GRANT_TYPES,
  type GrantType,
  type NewClient,
} from './clients.ts';
import {
  createSigningKeyEncryptor,
  listSigningKeys,
  revokeSigningKey,
  rotateSigningKey,
  signerOf,
} from './signing-keys.ts';

/** Grant types (RFC 6749 §1.3) are separated by spaces or commas. */
const parseGrants = (text: string): readonly GrantType[] =>
  parseNames(text, GRANT_TYPES, ['Grants', 'grant']);

const parseClientScopes = (text: string): readonly ClientScope[] =>
  parseNames(text, [...SCOPES, ...IDENTITY_SCOPES], ['Scopes', 'scope']);

interface CreateOptions extends Omit<NewClient, 'owner' | 'redirectUris' | 'postLogoutRedirectUris'> {
  readonly owner: string;
  readonly redirectUri?: readonly string[];
  readonly postLogoutRedirectUri?: readonly string[];
}

async function create(
  { database }: Opened,
  { owner, redirectUri, postLogoutRedirectUri, ...options }: CreateOptions,
) {
  const { grants, scopes } = options;
  const { id, role, disabledAt } = await findAccount(database, owner);
  if (disabledAt !== null)
    throw new AdminError(
      `Account "${owner}" is disabled. Nothing was changed. Run "user enable ${owner}" first.`,
    );
  const redirects = { redirectUris: redirectUri, postLogoutRedirectUris: postLogoutRedirectUri };
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const made = await createOAuthClient(work, { ...options, ...redirects, owner: { id, role } });
    await audit(work, 'oauth-client.create', made.client_id, { account: id, grants, scopes });
    return made;
  });
}

async function listClients({ database }: Opened) {
  const clients = await runInPrisma(database, (prisma) =>
    prisma.oAuthClient.findMany({
      omit: { ownerId: true },
      include: { owner: { select: { email: true } } },
      orderBy: OLDEST_FIRST,
    }),
  );
  return clients.map(({ id, redirectUris, postLogoutRedirectUris, secretHash, owner, ...client }) =>
    withoutUnset({
      client_id: id,
      ...client,
      redirect_uris: redirectUris,
      post_logout_redirect_uris: postLogoutRedirectUris,
      public: secretHash === null,
      owner: owner.email,
    }),
  );
}

function remove({ database }: Opened, id: string) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const account = isUuid(id) ? await deleteOAuthClient(work, id) : undefined;
    if (account === undefined)
      throw new AdminError(`OAuth client "${id}" does not exist. Nothing was changed.`);
    await audit(work, 'oauth-client.delete', id, { account });
    return { client_id: id, deleted: true };
  });
}

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

async function listKeys({ database, config }: Opened) {
  const keys = await listSigningKeys(database, createSigningKeyEncryptor(config));
  const signer = signerOf(keys);
  return keys.map(({ id, createdAt, signsFrom, usable }) => ({
    id,
    createdAt,
    activeFrom: signsFrom,
    active: id === signer?.id,
    usable,
  }));
}

function rotate({ database, config }: Opened) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const made = await rotateSigningKey(work, createSigningKeyEncryptor(config));
    await audit(work, 'signing-key.rotate', made.id);
    return { id: made.id, activeFrom: made.signsFrom };
  });
}

function revoke({ database }: Opened, id: string) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    if (!(await revokeSigningKey(work, id)))
      throw new AdminError(`Signing key "${id}" does not exist. Nothing was changed.`);
    await audit(work, 'signing-key.revoke', id);
    return { id, revoked: true };
  });
}

export const defineOAuthCommands: DefineCommands = ({ add, command }) => {
  add('oauth-client', 'Manage OAuth 2.0 clients');
  addOverrideOptions(
    command('oauth-client create', 'Create an OAuth client and print its secret once', create)
      .requiredOption(
        '--owner <email>',
        'email address of the account that owns the client and that the client acts for without a user',
      )
      .requiredOption('--name <name>', 'name shown to users', parseCredentialName)
      .requiredOption(
        '--grants <grants>',
        'client_credentials, authorization_code, refresh_token, separated by spaces',
        parseGrants,
      )
      .requiredOption(
        '--scopes <scopes>',
        'scopes that the client may request, separated by spaces; openid, profile and email show it the user',
        parseClientScopes,
      )
      .option('--redirect-uri <url>', 'URL that users return to after signing in; repeatable', collect)
      .option(
        '--post-logout-redirect-uri <url>',
        'URL that users may return to after signing out; repeatable',
        collect,
      )
      .option('--public', 'Create a public client, which has no secret'),
  );
  command('oauth-client list', 'List OAuth clients without their secrets, oldest first', listClients);
  command('oauth-client delete <id>', 'Delete an OAuth client and revoke all its tokens', remove);

  add('signing-key', 'Manage the keys that sign OAuth access tokens');
  command(
    'signing-key rotate',
    'Create a key that signs after ten seconds; earlier tokens stay valid until they expire',
    rotate,
  );
  command('signing-key list', 'List signing keys in signing order', listKeys);
  command(
    'signing-key revoke <id>',
    'Revoke a compromised key and, within a minute, all tokens that the key signed',
    revoke,
  )
    .allowUnknownOption()
    .helpOption('--help');
};
