import type { Role } from '../../auth/scopes.ts';
import { type Queryable, statement } from '../../platform/db/statement.ts';
import { isUuid } from '../../platform/uuid.ts';

/** An account as the OAuth pages see it. */
export interface ActiveAccount {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly role: Role;
}

const FIND = statement<ActiveAccount>(
  'oauth_account',
  'SELECT id, name, email, role FROM users WHERE id = $1 AND disabled_at IS NULL',
);

/** An account that is not disabled. Undefined if it is unknown or disabled. Throws DatabaseError. */
export async function findActiveAccount(db: Queryable, id: string): Promise<ActiveAccount | undefined> {
  return isUuid(id) ? (await db.query(FIND, [id]))[0] : undefined;
}
