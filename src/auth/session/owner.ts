import { type Queryable, statement } from '../../platform/db/statement.ts';
import type { Principal } from '../principal.ts';

/** Who is logged in, and when the session ends at the latest. */
export interface SessionOwner {
  readonly user: { readonly id: string; readonly name: string; readonly email: string };
  readonly expiresAt: Date;
}

const FIND = statement<{ name: string; email: string; expiresAt: Date }>(
  'session_owner',
  `SELECT u.name, u.email, s.absolute_expires_at AS "expiresAt" FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = $1`,
);

/** The account of a session; undefined if the session has ended. Throws DatabaseError. */
export async function ownerOf(
  db: Queryable,
  { userId, credentialId }: Pick<Principal, 'userId' | 'credentialId'>,
): Promise<SessionOwner | undefined> {
  if (credentialId === undefined) return undefined;
  const [row] = await db.query(FIND, [credentialId]);
  return row && { user: { id: userId, name: row.name, email: row.email }, expiresAt: row.expiresAt };
}
