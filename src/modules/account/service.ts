import {
  createApiKeyWithinLimit,
  KeyExpiredError,
  KeyLimitError,
  revokeApiKey,
  type StoredApiKey,
} from '../../auth/api-key/store.ts';
import { revokeOAuthGrant } from '../../auth/oauth/grants.ts';
import { accountFailures, type Passwords } from '../../auth/password-check.ts';
import type { Principal } from '../../auth/principal.ts';
import { holdSession, revokeSession, revokeSessionsOf } from '../../auth/session/store.ts';
import { ApiError, badInput, unauthenticated } from '../../graphql/errors.ts';
import { statement } from '../../platform/db/statement.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { checkKeyName, checkNewPassword, checkScopes } from './rules.ts';

export interface NewKey {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expiresAt?: Date | null | undefined;
}

/** Under the lock of the account. Throws UNAUTHENTICATED if the caller's session has ended since the request came. */
async function checkSession(work: UnitOfWork, { credentialId }: Principal): Promise<void> {
  if (!(await holdSession(work, credentialId)))
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
): Promise<{ key: string; apiKey: StoredApiKey }> {
  const wanted = {
    userId: principal.userId,
    name: checkKeyName(name),
    scopes: checkScopes(scopes, principal),
    expiresAt: expiresAt ?? undefined,
  };
  const { key, apiKey } = await createApiKeyWithinLimit(work, wanted).catch((error: unknown) => {
    if (error instanceof KeyExpiredError) throw badInput('expiresAt', 'must be in the future.');
    throw error instanceof KeyLimitError ? new ApiError('BAD_USER_INPUT', error.message) : error;
  });
  await checkSession(work, principal);
  return { key, apiKey };
}

/** Revokes a key of the caller's account. False if it has no such key, or no longer has it. */
export async function endApiKey(work: UnitOfWork, { userId }: Principal, id: string | undefined) {
  return id !== undefined && revokeApiKey(work, id, userId);
}

/** Ends a session of the caller's account. False if it has no such session, or no longer has it. */
export async function endSession(work: UnitOfWork, { userId }: Principal, id: string | undefined) {
  return id !== undefined && revokeSession(work, id, userId);
}

/** Revokes a client's grant of the caller's account. False if it has no such grant, or no longer has it. */
export async function endGrant(work: UnitOfWork, { userId }: Principal, id: string | undefined) {
  return id !== undefined && revokeOAuthGrant(work, id, userId);
}

const FIND_HASH = statement<{ email: string; hash: string | null }>(
  'account_password_hash',
  'SELECT email, password_hash AS "hash" FROM users WHERE id = $1',
);
/** Of two concurrent changes, the later one finds that its current password is no longer current. */
const CHANGE_HASH = statement<{ id: string }>(
  'account_change_password',
  'UPDATE users SET password_hash = $3 WHERE id = $1 AND password_hash = $2 RETURNING id',
);

/**
 * Changes the password and ends the other sessions of the account. A wrong current password is
 * BAD_USER_INPUT, because the caller has the permission but the argument is wrong. It counts as a failed
 * login of the account; too many failed logins are RATE_LIMITED.
 */
export async function changePassword(
  work: UnitOfWork,
  passwords: Passwords,
  principal: Principal,
  currentPassword: string,
  newPassword: string,
): Promise<void> {
  const { userId, credentialId } = principal;
  checkNewPassword(newPassword);
  const [account] = await work.query(FIND_HASH, [userId]);
  if (account === undefined) throw unauthenticated('The account has been deleted.');
  const { email, hash } = account;
  const changed = await passwords.attempt([accountFailures(email)], async () => {
    if (!(await passwords.matches(currentPassword, hash))) return undefined;
    const next = await passwords.hash(newPassword);
    const rows = await work.query(CHANGE_HASH, [userId, hash, next]);
    return rows.length > 0 ? true : undefined;
  });
  if (changed === undefined) throw badInput('currentPassword', 'is not the current password.');
  await checkSession(work, principal);
  await revokeSessionsOf(work, userId, credentialId);
}
