import type { Command } from 'commander';
import { audit, OPERATOR } from '../audit/audit.ts';
import { findAccount } from '../auth/account/store.ts';
import {
  createApiKeyWithinLimit,
  revokeApiKey,
  setApiKeyLimits,
  suspendApiKey,
} from '../auth/api-key/store.ts';
import { listApiKeyUses } from '../auth/api-key/uses.ts';
import type { StricterDocuments } from '../auth/principal.ts';
import { type Scope, scopesOfRole } from '../auth/scopes.ts';
import type { Database } from '../platform/db/database.ts';
import { statement } from '../platform/db/statement.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { isUuid } from '../platform/uuid.ts';
import type { AdminCommand } from './command.ts';
import {
  burstOption,
  documentsOption,
  type LimitOptions,
  type ListedOverrides,
  limitOptions,
  limitsOf,
  parseCredentialName,
  parseExpiry,
  parseScopes,
  perSecondOption,
  withoutUnset,
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

const SELECT = `SELECT k.id, k.name, k.prefix, k.scopes, k.created_at AS "createdAt", k.last_used_at AS "lastUsedAt",
     k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt", k.suspended_at AS "suspendedAt", k.burst,
     k.per_second AS "perSecond", k.documents, u.email AS "user"
   FROM api_keys k JOIN users u ON u.id = k.user_id`;
const LIST = statement<ListedOverrides>('admin_api_keys', `${SELECT} ORDER BY k.created_at, k.id`);
const SHOW = statement<ListedOverrides>('admin_api_key', `${SELECT} WHERE k.id = $1`);

async function show(database: Database, id: string) {
  const [key] = isUuid(id) ? await database.query(SHOW, [id]) : [];
  if (key === undefined) throw new AdminError(`There is no API key with the id "${id}".`);
  return { ...withoutUnset(key), uses: await listApiKeyUses(database, id) };
}

/** Changes a key and records that. `change` returns what it was done to; undefined if there was nothing to do. */
function changeKey<T extends { readonly account: string }>(
  database: Database,
  action: string,
  id: string,
  change: (work: UnitOfWork) => Promise<T | undefined>,
  otherwise: string,
): Promise<Omit<T, 'account'>> {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const changed = isUuid(id) ? await change(work) : undefined;
    if (changed === undefined)
      throw new AdminError(`There is no API key with the id "${id}", or it is ${otherwise}.`);
    const { account, ...detail } = changed;
    await audit(work, action, id, { account, ...detail });
    return detail;
  });
}

async function revoke(database: Database, id: string) {
  const end = async (work: UnitOfWork) => {
    const account = await revokeApiKey(work, id);
    return account === undefined ? undefined : { account };
  };
  await changeKey(database, 'api-key.revoke', id, end, 'already revoked');
  return { id, revoked: true };
}

async function setSuspended(database: Database, id: string, suspended: boolean) {
  const { action, otherwise } = suspended
    ? { action: 'api-key.suspend', otherwise: 'revoked or already suspended' }
    : { action: 'api-key.resume', otherwise: 'revoked or not suspended' };
  await changeKey(database, action, id, (work) => suspendApiKey(work, id, suspended), otherwise);
  return { id, suspended };
}

async function setLimits(database: Database, id: string, limits: ReturnType<typeof limitsOf>) {
  const change = (work: UnitOfWork) => setApiKeyLimits(work, id, limits);
  return { id, ...(await changeKey(database, 'api-key.set-limits', id, change, 'revoked')) };
}

/** `api-key create`, `list`, `show`, `revoke`, `suspend`, `resume`, `set-limits`. */
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
      .action(() => run(async ({ database }) => (await database.query(LIST, [])).map(withoutUnset)));

    apiKey
      .command('show <id>')
      .description('shows a key without its secret, and the addresses that used it, the last use first')
      .action((id: string) => run(({ database }) => show(database, id)));

    apiKey
      .command('revoke <id>')
      .description('revokes a key permanently')
      .action((id: string) => run(({ database }) => revoke(database, id)));

    apiKey
      .command('suspend <id>')
      .description('has a key refused, and its streams end, until it is resumed')
      .action((id: string) => run(({ database }) => setSuspended(database, id, true)));

    apiKey
      .command('resume <id>')
      .description('has a suspended key work again')
      .action((id: string) => run(({ database }) => setSuspended(database, id, false)));

    const limiting = apiKey
      .command('set-limits <id>')
      .description('sets how many requests a key may make, on all instances within a second')
      .action((id: string, options: LimitOptions, command: Command) => {
        const limits = limitsOf(options, command);
        return run(({ database }) => setLimits(database, id, limits));
      });
    for (const option of limitOptions()) limiting.addOption(option);
  },
};
