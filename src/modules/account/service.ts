import {
  createApiKeyWithinLimit,
  KeyExpiredError,
  KeyLimitError,
  revokeApiKey,
  type StoredApiKey,
} from '../../auth/api-key/store.ts';
import type { Principal } from '../../auth/principal.ts';
import { holdSession, revokeSession } from '../../auth/session/store.ts';
import { ApiError, badInput, unauthenticated } from '../../graphql/errors.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { checkKeyName, checkScopes } from './rules.ts';

export interface NewKey {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expiresAt?: Date | null | undefined;
}

/** Under the lock of the account. Throws UNAUTHENTICATED if the caller's session has ended since the request came. */
export async function checkSession(work: UnitOfWork, { credentialId }: Principal): Promise<void> {
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
