import { audit } from '../../audit/audit.ts';
import { type Endings, endAllCredentials } from '../../auth/account/endings.ts';
import { ACCOUNT_NAME, LOCK_ACCOUNT } from '../../auth/account/store.ts';
import {
  createApiKeyWithinLimit,
  KeyExpiredError,
  KeyLimitError,
  revokeApiKey,
  type StoredApiKey,
} from '../../auth/api-key/store.ts';
import type { Principal } from '../../auth/principal.ts';
import { isScope, type Scope, scopesOfRole } from '../../auth/scopes.ts';
import { type HeldSession, holdSession, revokeSession } from '../../auth/session/store.ts';
import { principalOf } from '../../graphql/context.ts';
import { ApiError, badInput, forbidden, unauthenticated } from '../../graphql/errors.ts';
import { checkText } from '../../graphql/input.ts';
import type { LockKind, NamedRow } from '../../graphql/row-locks.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import type { Rules } from '../rules.ts';

/** An operation that ends several keys, sessions or grants locks their account first. */
const ACCOUNT: LockKind = {
  rank: 2,
  async take(work, _rows, context) {
    await work.query(LOCK_ACCOUNT, [principalOf(context).userId]);
  },
};

/** The lock of the caller's own account. */
export const ownAccount = (): readonly NamedRow[] => [{ kind: ACCOUNT, id: 'own' }];

interface NewKey {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expiresAt?: Date | null | undefined;
}

/** The scopes of a new key: known, without duplicates, and within the account's role (contract section 3). */
function checkScopes(scopes: readonly string[], { role }: Principal): readonly Scope[] {
  if (scopes.length === 0) throw badInput('scopes', 'must contain at least one scope.');
  const unknown = scopes.find((scope) => !isScope(scope));
  if (unknown !== undefined)
    throw badInput('scopes', `must contain only known scopes: ${scopesOfRole(role).join(', ')}.`);
  if (new Set(scopes).size < scopes.length) throw badInput('scopes', 'must not contain duplicates.');
  const held = scopesOfRole(role);
  const known = scopes.filter(isScope);
  const beyond = known.find((scope) => !held.includes(scope));
  if (beyond !== undefined)
    throw forbidden(`The account cannot hold the scope "${beyond}", so neither can its key.`);
  return known;
}

/** Under the lock of the account. Throws UNAUTHENTICATED if the caller's session has ended since the request came. */
export async function checkSession(work: UnitOfWork, { credentialId }: Principal): Promise<HeldSession> {
  const held = await holdSession(work, credentialId);
  if (held !== undefined) return held;
  throw unauthenticated('The session has ended.', { 'www-authenticate': 'Bearer' });
}

/**
 * Creates a key for the caller's account. Throws BAD_USER_INPUT, FORBIDDEN for scopes beyond the role,
 * UNAUTHENTICATED, DatabaseError.
 */
export async function makeApiKey(
  work: UnitOfWork,
  principal: Principal,
  { name, scopes, expiresAt }: NewKey,
  { keyName }: Rules['account'],
): Promise<{ id: string; key: string; apiKey: StoredApiKey }> {
  const wanted = {
    userId: principal.userId,
    name: checkText('name', name, keyName),
    scopes: checkScopes(scopes, principal),
    expiresAt: expiresAt ?? undefined,
  };
  const { id, key, apiKey } = await createApiKeyWithinLimit(work, wanted).catch((error: unknown) => {
    if (error instanceof KeyExpiredError) throw badInput('expiresAt', 'must be in the future.');
    throw error instanceof KeyLimitError ? new ApiError('BAD_USER_INPUT', error.message) : error;
  });
  await checkSession(work, principal);
  await audit(work, 'createApiKey', id, { account: principal.userId, scopes: wanted.scopes });
  return { id, key, apiKey };
}

/** Changes the name of the caller's account, and returns its id. Throws BAD_USER_INPUT, UNAUTHENTICATED, DatabaseError. */
export async function renameAccount(work: UnitOfWork, principal: Principal, name: string): Promise<string> {
  checkText('name', name, ACCOUNT_NAME);
  const { userId: id } = principal;
  await work.withPrisma((prisma) => prisma.user.updateMany({ where: { id }, data: { name } }));
  await checkSession(work, principal);
  return id;
}

/** Ends all that was issued to the caller's account. Throws UNAUTHENTICATED, DatabaseError. */
export async function endEverything(work: UnitOfWork, principal: Principal, endings: Endings): Promise<void> {
  const { userId } = principal;
  await checkSession(work, principal);
  const ended = await endAllCredentials(work, [userId], endings);
  await audit(work, 'revokeEverything', userId, { account: userId, ended });
}

/** Revokes a key of the caller's account. False if it has no such key, or no longer has it. */
export async function endApiKey(work: UnitOfWork, { userId }: Principal, id: string | undefined) {
  if (id === undefined || (await revokeApiKey(work, id, userId)) === undefined) return false;
  await audit(work, 'revokeApiKey', id, { account: userId });
  return true;
}

/** Ends a session of the caller's account. False if it has no such session, or no longer has it. */
export async function endSession(work: UnitOfWork, { userId }: Principal, id: string | undefined) {
  if (id === undefined || !(await revokeSession(work, id, userId))) return false;
  await audit(work, 'revokeSession', id, { account: userId });
  return true;
}
