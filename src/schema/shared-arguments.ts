import { audit } from '../auth/audit.ts';
import type { Principal } from '../auth/principal.ts';
import type { UnitOfWork } from '../database/unit-of-work.ts';
import type { ArgumentBuilder } from '../engine/builder/connections.ts';
import { conflict } from '../platform/errors.ts';

/** What a change sets in the row of a post or comment. */
export interface Changed {
  readonly updatedAt: Date;
  readonly version: number;
}

/** The part of an UPDATE that sets it. The clock of the database may be set back; the timestamp is not. */
export const NEW_VERSION =
  'version = version + 1, updated_at = greatest(clock_timestamp(), coalesce(updated_at, created_at))';

/** The version that the caller has read; null or undefined to change any. */
export type IfVersion = number | null | undefined;

/** Throws CONFLICT if a row has another version than the client has read. */
export function checkVersion(
  type: string,
  { id, version }: { readonly id: string; readonly version: number },
  ifVersion: IfVersion,
): void {
  if (ifVersion != null && ifVersion !== version) throw conflict(type, id, version, ifVersion);
}

/** The argument of mutations that change or delete what the caller has read. */
export const versionArgument = (arg: ArgumentBuilder, what: string) =>
  arg.int({
    description: `The version that the client has read. If the ${what} has another version, nothing is changed, and the error is CONFLICT with the current version in \`extensions.version\`. If absent or null, the version is not checked.`,
  });

/** Records what an admin has done to something of another account. Throws DatabaseError. */
export async function auditModeration(
  work: UnitOfWork,
  { userId }: Principal,
  action: string,
  { id, authorId }: { readonly id: string; readonly authorId: string },
): Promise<void> {
  if (authorId !== userId) await audit(work, action, id, { account: authorId });
}
