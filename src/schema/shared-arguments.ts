import { audit } from '../auth/audit.ts';
import type { Principal } from '../auth/principal.ts';
import type { UnitOfWork } from '../database/unit-of-work.ts';
import type { ArgumentBuilder } from '../engine/builder/connections.ts';
import { conflict } from '../platform/errors.ts';

export interface Changed {
  readonly updatedAt: Date;
  readonly version: number;
}

/** The clock of the database may be set back, but `updated_at` never decreases. */
export const NEW_VERSION =
  'version = version + 1, updated_at = greatest(clock_timestamp(), coalesce(updated_at, created_at))';

/** Null and undefined allow every version. */
export type IfVersion = number | null | undefined;

/** @throws {ApiError} CONFLICT */
export function checkVersion(
  type: string,
  { id, version }: { readonly id: string; readonly version: number },
  ifVersion: IfVersion,
): void {
  if (ifVersion != null && ifVersion !== version) throw conflict(type, id, version, ifVersion);
}

export const versionArgument = (arg: ArgumentBuilder) =>
  arg.int({
    description:
      'The version that the client has read. Another version is CONFLICT, with the current version in `extensions.version`. Not checked if absent or null.',
  });

/** The contract guarantees this rule (contract: permissions). */
export const mayChange = ({ userId, role }: Principal, row: { readonly authorId: string }): boolean =>
  userId === row.authorId || role === 'admin';

/**
 * Records an admin's change of an object of another account.
 * @throws {DatabaseError}
 */
export async function auditModeration(
  work: UnitOfWork,
  { userId }: Principal,
  action: string,
  { id, authorId }: { readonly id: string; readonly authorId: string },
): Promise<void> {
  if (authorId !== userId) await audit(work, action, id, { account: authorId });
}
