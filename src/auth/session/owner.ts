import { type Queryable, statement } from '../../platform/db/statement.ts';
import type { Principal } from '../principal.ts';
import type { LoggedIn } from './login.ts';

const FIND = statement<{ name: string; email: string; expiresAt: Date }>(
  'session_owner',
  `SELECT u.name, u.email, s.absolute_expires_at AS "expiresAt" FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = $1`,
);

/**
 * Who is logged in with a session, and when it ends at the latest; undefined if the session has ended. Throws
 * DatabaseError.
 */
export async function ownerOf(
  db: Queryable,
  { userId, credentialId }: Pick<Principal, 'userId' | 'credentialId'>,
): Promise<Pick<LoggedIn, 'user' | 'expiresAt'> | undefined> {
  if (credentialId === undefined) return undefined;
  const [row] = await db.query(FIND, [credentialId]);
  return row && { user: { id: userId, name: row.name, email: row.email }, expiresAt: row.expiresAt };
}
