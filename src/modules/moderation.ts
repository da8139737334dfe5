import { audit } from '../audit/audit.ts';
import type { Principal } from '../auth/principal.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';

/** Records what an admin has done to something of another account. Throws DatabaseError. */
export async function auditModeration(
  work: UnitOfWork,
  { userId }: Principal,
  action: string,
  { id, authorId }: { readonly id: string; readonly authorId: string },
): Promise<void> {
  if (authorId !== userId) await audit(work, action, id, { account: authorId });
}
