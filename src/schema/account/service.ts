import { COMMON_PASSWORD, isCommon, LOCK_ACCOUNT, PASSWORD } from '../../auth/accounts.ts';
import {
  createApiKeyWithinLimit,
  KeyExpiredError,
  KeyLimitError,
  revokeApiKey,
  type StoredApiKey,
} from '../../auth/api-keys.ts';
import { audit } from '../../auth/audit.ts';
import { unlinkIdentity } from '../../auth/external-identities.ts';
import { confirmationFailures } from '../../auth/login.ts';
import { isSession, type Principal } from '../../auth/principal.ts';
import { type Revocations, revoke, revokeAllCredentials } from '../../auth/revocation.ts';
import { isScope, type Scope, scopesOfRole } from '../../auth/scopes.ts';
import {
  type HeldSession,
  holdSession,
  type OpenedSession,
  openSession,
  revokeSession,
} from '../../auth/sessions.ts';
import { violatedUniqueIndex } from '../../database/errors.ts';
import { statement } from '../../database/statement.ts';
import type { UnitOfWork } from '../../database/unit-of-work.ts';
import type { PreparationContext } from '../../engine/core/before-transaction.ts';
import { principalOf } from '../../engine/core/context.ts';
import { checkText } from '../../engine/core/input.ts';
import type { LockKind, NamedRow } from '../../engine/core/mutation-plugin.ts';
import { ApiError, badInput, forbidden, quoteValue, unauthenticated } from '../../platform/errors.ts';
import type { ContentLimits } from '../content-limits.ts';
import { checkProfile, type ProfileChanges } from '../user/profile.ts';

/** An operation that revokes several keys, sessions or grants locks their account first. */
const ACCOUNT: LockKind = {
  rank: 2,
  async take(work, _rows, context) {
    await work.query(LOCK_ACCOUNT, [principalOf(context).userId]);
  },
};

export const ownAccount = (): readonly NamedRow[] => [{ kind: ACCOUNT, id: 'own' }];

interface NewKey {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expiresAt?: Date | null | undefined;
}

/** Scopes must not exceed the role of the account (contract: scopes). */
function checkScopes(scopes: readonly string[], { role }: Principal): readonly Scope[] {
  if (scopes.length === 0) throw badInput('scopes', 'must contain at least one scope.');
  const unknown = scopes.find((scope) => !isScope(scope));
  if (unknown !== undefined)
    throw badInput(
      'scopes',
      `contains the unknown scope ${quoteValue(unknown)}. Known scopes: ${scopesOfRole(role).join(', ')}.`,
    );
  if (new Set(scopes).size < scopes.length) throw badInput('scopes', 'must not contain duplicates.');
  const held = scopesOfRole(role);
  const known = scopes.filter(isScope);
  const beyond = known.find((scope) => !held.includes(scope));
  if (beyond !== undefined)
    throw forbidden(
      `Your account does not have the scope "${beyond}", so its API keys cannot have it. Your scopes: ${held.join(', ')}.`,
    );
  return known;
}

/**
 * The caller must hold the lock of the account.
 * @throws {ApiError} UNAUTHENTICATED if the session was revoked after the request arrived
 */
export async function checkSession(work: UnitOfWork, { credentialId }: Principal): Promise<HeldSession> {
  const held = await holdSession(work, credentialId);
  if (held !== undefined) return held;
  throw unauthenticated('The session expired or was revoked. Log in again.');
}

/**
 * @throws {ApiError} BAD_USER_INPUT, FORBIDDEN for scopes beyond the role, UNAUTHENTICATED
 * @throws {DatabaseError}
 */
export async function makeApiKey(
  work: UnitOfWork,
  principal: Principal,
  { name, scopes, expiresAt }: NewKey,
  { keyName }: ContentLimits['account'],
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

/** Null parameters change nothing, and empty strings remove a handle or a picture. */
const CHANGE_PROFILE = statement<never>(
  'account_change_profile',
  `UPDATE users SET name = coalesce($2, name), handle = nullif(coalesce($3, handle), ''), bio = coalesce($4, bio),
     avatar_url = nullif(coalesce($5, avatar_url), '') WHERE id = $1`,
);

/**
 * @returns the id of the account
 * @throws {ApiError} BAD_USER_INPUT, UNAUTHENTICATED
 * @throws {DatabaseError}
 */
export async function updateProfile(
  work: UnitOfWork,
  principal: Principal,
  changes: ProfileChanges,
  limits: ContentLimits['profile'],
): Promise<string> {
  checkProfile(changes, limits);
  const { userId: id } = principal;
  const { name, handle, bio, avatarUrl } = changes;
  const values = [id, name ?? null, handle ?? null, bio ?? null, avatarUrl ?? null];
  await work.query(CHANGE_PROFILE, values).catch((error: unknown) => {
    throw violatedUniqueIndex(error) === 'users_handle_key'
      ? badInput('handle', 'belongs to another account. Choose another one.')
      : error;
  });
  await checkSession(work, principal);
  return id;
}

/**
 * @throws {ApiError} UNAUTHENTICATED
 * @throws {DatabaseError}
 */
export async function revokeEverything(
  work: UnitOfWork,
  principal: Principal,
  revocations: Revocations,
): Promise<void> {
  const { userId } = principal;
  await checkSession(work, principal);
  const revoked = await revokeAllCredentials(work, [userId], revocations);
  await audit(work, 'revokeEverything', userId, { account: userId, revoked });
}

/** @returns false if the account has no such key, or the key was revoked already */
export async function endApiKey(work: UnitOfWork, { userId }: Principal, id: string | undefined) {
  if (id === undefined || (await revokeApiKey(work, id, userId)) === undefined) return false;
  await audit(work, 'revokeApiKey', id, { account: userId });
  return true;
}

/** @returns false if the account has no such session, or the session was revoked already */
export async function endSession(work: UnitOfWork, { userId }: Principal, id: string | undefined) {
  if (id === undefined || !(await revokeSession(work, id, userId))) return false;
  await audit(work, 'revokeSession', id, { account: userId });
  return true;
}

/** @returns false if the account has no such identity, or the identity was unlinked already */
export async function removeIdentity(work: UnitOfWork, { userId }: Principal, id: string | undefined) {
  const removed = id === undefined ? undefined : await unlinkIdentity(work, userId, id);
  if (removed === undefined) return false;
  await audit(work, 'unlinkIdentity', removed.id, { account: userId, issuer: removed.issuer });
  return true;
}

const FIND_HASH = statement<{ hash: string | null }>(
  'account_password_hash',
  'SELECT password_hash AS "hash" FROM users WHERE id = $1',
);
/** After two concurrent changes, the later change finds that its current password is no longer current. */
const CHANGE_HASH = statement<{ id: string }>(
  'account_change_password',
  'UPDATE users SET password_hash = $3 WHERE id = $1 AND password_hash = $2 RETURNING id',
);

export interface PasswordChange {
  readonly currentHash: string;
  readonly newHash: string;
}

const wrongPassword = () => badInput('currentPassword', 'is not the current password.');

/**
 * Verifies the password of a caller with a session, then runs `then` with its hash. Verification takes tens
 * of milliseconds, so no row may be locked. A wrong password is BAD_USER_INPUT, because the caller has the
 * permission but the argument is wrong. The separate bucket prevents failed logins of attackers from blocking
 * the owner.
 * @returns undefined without a session, which the field rejects
 * @throws {ApiError} BAD_USER_INPUT, FORBIDDEN without a password, RATE_LIMITED, UNAUTHENTICATED
 */
async function checked<T>(
  { caller, db, passwords, onWrongPassword }: PreparationContext,
  currentPassword: string,
  then: (userId: string, currentHash: string) => Promise<T>,
): Promise<T | undefined> {
  if (!isSession(caller)) return undefined;
  const { userId } = caller;
  const [account] = await db.query(FIND_HASH, [userId]);
  if (account === undefined) throw unauthenticated('Your account was deleted.');
  const { hash } = account;
  if (hash === null)
    throw forbidden('Your account has no password. Ask the operator for a link to set a password.');
  const result = await passwords.attempt([confirmationFailures(userId)], async () =>
    (await passwords.matches(userId, currentPassword, hash)) ? then(userId, hash) : undefined,
  );
  if (result !== undefined) return result;
  onWrongPassword();
  throw wrongPassword();
}

/**
 * The argument is nullable where it was added to a published field, so a missing password is BAD_USER_INPUT.
 * @throws {ApiError} as `checked` does
 */
export async function confirmPassword(context: PreparationContext, currentPassword: unknown): Promise<void> {
  if (!isSession(context.caller)) return;
  if (typeof currentPassword !== 'string') throw badInput('currentPassword', 'is required.');
  await checked(context, currentPassword, async () => true);
}

/** @throws {ApiError} as `checked` does */
export async function preparePassword(
  context: PreparationContext,
  currentPassword: string,
  newPassword: string,
): Promise<PasswordChange | undefined> {
  if (isSession(context.caller)) {
    checkText('newPassword', newPassword, PASSWORD);
    if (await isCommon(newPassword, PASSWORD.min)) throw badInput('newPassword', `is ${COMMON_PASSWORD}`);
  }
  return checked(context, currentPassword, async (userId, currentHash) => ({
    currentHash,
    newHash: await context.passwords.hash(userId, newPassword),
  }));
}

/**
 * Revokes all that was issued after logins with the old password. A new session replaces the caller's
 * session, so that a copied cookie no longer works.
 * @throws {ApiError} BAD_USER_INPUT if the password was changed during the request, UNAUTHENTICATED if the
 * session was revoked or the account disabled
 */
export async function changePassword(
  work: UnitOfWork,
  principal: Principal,
  { currentHash, newHash }: PasswordChange,
  revocations: Revocations,
): Promise<OpenedSession> {
  const { userId } = principal;
  const changed = await work.query(CHANGE_HASH, [userId, currentHash, newHash]);
  if (changed.length === 0) throw wrongPassword();
  const { userAgent } = await checkSession(work, principal);
  const revoked = await revoke(work, [userId], revocations);
  await audit(work, 'changePassword', userId, { account: userId, revoked });
  const opened = await openSession(work, { userId, passwordHash: newHash, userAgent });
  if (opened === undefined) throw unauthenticated('Your account was disabled. Contact the operator.');
  return opened;
}
