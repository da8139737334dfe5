import { DatabaseError, violatedForeignKey } from '../../platform/db/errors.ts';

const REFERENCE_TO_ACCOUNT = /_(author|user|owner)_id_fkey$/;

/**
 * Whether a write failed because its account was deleted while it ran. An account is only deleted once nothing refers to
 * it, so the reference was the one being written.
 */
export function isAccountGone(error: unknown): boolean {
  const violated = error instanceof DatabaseError ? violatedForeignKey(error) : undefined;
  return violated !== undefined && REFERENCE_TO_ACCOUNT.test(violated);
}
