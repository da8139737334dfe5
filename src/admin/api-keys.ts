import { audit, OPERATOR } from '../audit/audit.ts';
import { findAccount } from '../auth/account/store.ts';
import { createApiKeyWithinLimit, revokeApiKey } from '../auth/api-key/store.ts';
import type { StricterDocuments } from '../auth/principal.ts';
import { type Scope, scopesOfRole } from '../auth/scopes.ts';
import type { Database } from '../platform/db/database.ts';
import { statement } from '../platform/db/statement.ts';
import { isUuid } from '../platform/uuid.ts';
import type { AdminCommand } from './command.ts';
import {
  burstOption,
  documentsOption,
  type ListedOverrides,
  parseCredentialName,
  parseExpiry,
  parseScopes,
  perSecondOption,
  withoutNoPolicy,
} from './options.ts';
import { AdminError } from './output.ts';

interface CreateOptions {
  readonly user: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expires?: Date;
  readonly burst?: number;
  readonly perSecond?: number;
  readonly documents?: StricterDocuments;
}

async function create(database: Database, options: CreateOptions) {
  const { user, name, scopes, expires, burst, perSecond, documents } = options;
  const { id, role, disabledAt } = await findAccount(database, user);
  if (disabledAt !== null) throw new AdminError(`The account "${user}" is disabled: none of its keys work.`);
  const held = scopesOfRole(role);
  const beyond = scopes.filter((scope) => !held.includes(scope));
  // A key never has more scopes than its account (contract section 3), so refuse them right away.
  if (beyond.length > 0)
    throw new AdminError(
      `The account "${user}" has the role ${role}, which does not allow ${beyond.join(', ')}.`,
    );
  const wanted = { userId: id, name, scopes, expiresAt: expires, burst, perSecond, documents };
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const { id: keyId, key } = await createApiKeyWithinLimit(work, wanted);
    await audit(work, 'api-key.create', keyId, { account: id, scopes });
    return { id: keyId, key };
  });
}

const LIST = statement<ListedOverrides>(
  'admin_api_keys',
  `SELECT k.id, k.name, k.prefix, k.scopes, k.created_at AS "createdAt", k.last_used_at AS "lastUsedAt",
     k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt", k.documents, u.email AS "user"
   FROM api_keys k JOIN users u ON u.id = k.user_id ORDER BY k.created_at, k.id`,
);

function revoke(database: Database, id: string) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const account = isUuid(id) ? await revokeApiKey(work, id) : undefined;
    if (account === undefined)
      throw new AdminError(`There is no API key with the id "${id}", or it is already revoked.`);
    await audit(work, 'api-key.revoke', id, { account });
    return { id, revoked: true };
  });
}

/** `api-key create`, `api-key list`, `api-key revoke`. */
export const apiKeyCommands: AdminCommand = {
  name: 'api-key',
  description: 'manages API keys',
  define(apiKey, run) {
    apiKey
      .command('create')
      .description('creates a key and prints it; it is not shown again')
      .requiredOption('--user <email>', 'the account that the key belongs to')
      .requiredOption('--name <name>', 'the purpose of the key', parseCredentialName)
      .requiredOption('--scopes <scopes>', 'scopes, separated by spaces', parseScopes)
      .option('--expires <time>', 'ISO 8601 time; default: valid until revoked', parseExpiry)
      .addOption(burstOption())
      .addOption(perSecondOption())
      .addOption(documentsOption())
      .action((options: CreateOptions) => run(({ database }) => create(database, options)));

    apiKey
      .command('list')
      .description('lists the keys without their secrets, oldest first')
      .action(() => run(async ({ database }) => (await database.query(LIST, [])).map(withoutNoPolicy)));

    apiKey
      .command('revoke <id>')
      .description('revokes a key permanently')
      .action((id: string) => run(({ database }) => revoke(database, id)));
  },
};
