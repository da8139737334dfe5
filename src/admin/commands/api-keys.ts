import { findAccount } from '../../auth/accounts.ts';
import {
  createApiKeyWithinLimit,
  type NewApiKey,
  revokeApiKey,
  setApiKeyLimits,
  suspendApiKey,
} from '../../auth/api-keys.ts';
import { audit, OPERATOR } from '../../auth/audit.ts';
import { scopesOfRole } from '../../auth/scopes.ts';
import { runInPrisma, type UnitOfWork } from '../../database/unit-of-work.ts';
import { isUuid } from '../../platform/ids.ts';
import type { DefineCommands, Opened } from '../cli/connection.ts';
import {
  addLimitOptions,
  addOverrideOptions,
  type LimitOptions,
  limitsOf,
  OLDEST_FIRST,
  parseCredentialName,
  parseExpiry,
  parseScopes,
  withoutUnset,
} from '../cli/options.ts';
import { AdminError } from '../cli/output.ts';

interface CreateOptions extends Omit<NewApiKey, 'userId' | 'expiresAt'> {
  readonly user: string;
  readonly expires?: Date;
}

async function create({ database }: Opened, { user, expires, ...key }: CreateOptions) {
  const { scopes } = key;
  const { id, role, disabledAt } = await findAccount(database, user);
  if (disabledAt !== null)
    throw new AdminError(
      `Account "${user}" is disabled. Nothing was changed. Run "user enable ${user}" first.`,
    );
  const held = scopesOfRole(role);
  const beyond = scopes.filter((scope) => !held.includes(scope));
  // A key never has more scopes than its account (contract: credentials).
  if (beyond.length > 0)
    throw new AdminError(
      `Account "${user}" has the role ${role}, which does not allow ${beyond.join(', ')}. Nothing was changed. The role allows ${held.join(', ')}.`,
    );
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const created = await createApiKeyWithinLimit(work, { ...key, userId: id, expiresAt: expires });
    await audit(work, 'api-key.create', created.id, { account: id, scopes });
    return { id: created.id, key: created.key };
  });
}

const omit = { userId: true, hash: true } as const;
const user = { select: { email: true } } as const;

async function list({ database }: Opened) {
  const keys = await runInPrisma(database, (prisma) =>
    prisma.apiKey.findMany({ omit, include: { user }, orderBy: OLDEST_FIRST }),
  );
  return keys.map((key) => withoutUnset({ ...key, user: key.user.email }));
}

async function show({ database }: Opened, id: string) {
  const key = isUuid(id)
    ? await runInPrisma(database, (prisma) =>
        prisma.apiKey.findUnique({
          where: { id },
          omit,
          include: {
            user,
            uses: { omit: { keyId: true }, orderBy: [{ lastAt: 'desc' }, { address: 'asc' }] },
          },
        }),
      )
    : null;
  if (key === null)
    throw new AdminError(`API key "${id}" does not exist. Run "api-key list" to see all ids.`);
  const { uses: used, ...shown } = key;
  return { ...withoutUnset({ ...shown, user: key.user.email }), uses: used };
}

/** `change` returns the detail of the audit entry, or undefined if there was nothing to change. */
function changeKey<T extends { readonly account: string }>(
  { database }: Opened,
  action: string,
  id: string,
  change: (work: UnitOfWork) => Promise<T | undefined>,
  otherwise: string,
): Promise<Omit<T, 'account'>> {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const changed = isUuid(id) ? await change(work) : undefined;
    if (changed === undefined)
      throw new AdminError(`API key "${id}" does not exist, or is ${otherwise}. Nothing was changed.`);
    const { account, ...detail } = changed;
    await audit(work, action, id, { account, ...detail });
    return detail;
  });
}

async function revoke(opened: Opened, id: string) {
  const end = async (work: UnitOfWork) => {
    const account = await revokeApiKey(work, id);
    return account === undefined ? undefined : { account };
  };
  await changeKey(opened, 'api-key.revoke', id, end, 'already revoked');
  return { id, revoked: true };
}

async function setSuspended(opened: Opened, id: string, suspended: boolean) {
  const { action, otherwise } = suspended
    ? { action: 'api-key.suspend', otherwise: 'revoked or already suspended' }
    : { action: 'api-key.resume', otherwise: 'revoked or not suspended' };
  await changeKey(opened, action, id, (work) => suspendApiKey(work, id, suspended), otherwise);
  return { id, suspended };
}

async function setLimits(opened: Opened, id: string, options: LimitOptions) {
  const change = (work: UnitOfWork) => setApiKeyLimits(work, id, limitsOf(options));
  return { id, ...(await changeKey(opened, 'api-key.set-limits', id, change, 'revoked')) };
}

export const defineApiKeyCommands: DefineCommands = ({ add, command }) => {
  add('api-key', 'Manage API keys');
  addOverrideOptions(
    command('api-key create', 'Create an API key and print its secret once', create)
      .requiredOption('--user <email>', 'email address of the account that owns the key')
      .requiredOption('--name <name>', 'purpose of the key', parseCredentialName)
      .requiredOption('--scopes <scopes>', 'scopes, separated by spaces or commas', parseScopes)
      .option('--expires <time>', 'ISO 8601 time; default: no expiry', parseExpiry),
  );
  command('api-key list', 'List API keys without their secrets, oldest first', list);
  command(
    'api-key show <id>',
    'Show an API key without its secret, with the IP addresses that used the key, most recent first',
    show,
  );
  command('api-key revoke <id>', 'Revoke an API key', revoke);
  command(
    'api-key suspend <id>',
    'Reject an API key and close its event streams until you resume the key',
    (opened, id: string) => setSuspended(opened, id, true),
  );
  command('api-key resume <id>', 'Accept a suspended API key again', (opened, id: string) =>
    setSuspended(opened, id, false),
  );
  addLimitOptions(
    command(
      'api-key set-limits <id>',
      'Set the rate limit of an API key, on all instances within a second',
      setLimits,
    ),
  );
};
