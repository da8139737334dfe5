import { DatabaseError, isForeignKeyViolation } from '../../platform/db/errors.ts';

/** Names in PostgreSQL's message, and in that of Prisma's client. */
const REFERENCE_TO_ACCOUNT = /foreign key constraint.*_(author|user|owner)_id_fkey/is;

/**
 * Whether a write failed because its account was deleted while it ran. An account is only deleted once nothing refers to
 * it, so the reference was the one being written.
 */
export function isAccountGone(error: unknown): boolean {
  return (
    error instanceof DatabaseError && isForeignKeyViolation(error) && REFERENCE_TO_ACCOUNT.test(error.message)
  );
}
