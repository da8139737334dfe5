import { type ClientScope, type IdentityScope, isIdentityScope, type Role } from '../../auth/scopes.ts';
import { type Queryable, statement } from '../../database/statement.ts';
import { isUuid } from '../../platform/ids.ts';

/** The account behind a sign-in. Disabled accounts have none. */
export interface ActiveAccount {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly role: Role;
  readonly handle: string | null;
  readonly avatarUrl: string | null;
  readonly isEmailVerified: boolean;
}

const COLUMNS = `u.id, u.name, u.email, u.role, u.handle, u.avatar_url AS "avatarUrl",
     u.email_verified_at IS NOT NULL AS "isEmailVerified"`;

const FIND = statement<ActiveAccount>(
  'oauth_account',
  `SELECT ${COLUMNS} FROM users u WHERE u.id = $1 AND u.disabled_at IS NULL`,
);

/**
 * @returns undefined if the account is unknown or disabled
 * @throws {DatabaseError}
 */
export async function findActiveAccount(db: Queryable, id: string): Promise<ActiveAccount | undefined> {
  return isUuid(id) ? (await db.query(FIND, [id]))[0] : undefined;
}

export interface AccountOfSession extends ActiveAccount {
  /** When the user entered the password, as a Unix time by the database's clock. */
  readonly signedInAt: number;
  readonly secondsAgo: number;
}

const FIND_BY_SESSION = statement<AccountOfSession>(
  'oauth_account_of_session',
  `SELECT ${COLUMNS}, floor(extract(epoch FROM s.created_at))::int AS "signedInAt",
     extract(epoch FROM now() - s.created_at)::float8 AS "secondsAgo"
   FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = $1 AND u.disabled_at IS NULL`,
);

/** @throws {DatabaseError} */
export async function findAccountOfSession(
  db: Queryable,
  session: string,
): Promise<AccountOfSession | undefined> {
  return (await db.query(FIND_BY_SESSION, [session]))[0];
}

/** OpenID Connect Core §5.4 assigns claims to scopes. */
export const IDENTITY_CLAIMS = {
  openid: ['sub', 'auth_time', 'iat'],
  profile: ['name', 'preferred_username', 'picture'],
  email: ['email', 'email_verified'],
} as const satisfies Record<IdentityScope, readonly string[]>;

/** Optional claims are undefined, which JSON leaves out. */
export function createClaims(account: ActiveAccount) {
  return {
    sub: account.id,
    name: account.name,
    preferred_username: account.handle ?? undefined,
    picture: account.avatarUrl ?? undefined,
    email: account.email,
    email_verified: account.isEmailVerified,
  };
}

/** A client learns nothing about the user unless it requests `openid` (OpenID Connect Core §3.1.2.1). */
export function selectIdentityScopes(scopes: readonly ClientScope[], requested: readonly string[]) {
  const isOpenId = requested.includes('openid');
  return scopes.filter(isIdentityScope).filter((scope) => isOpenId && requested.includes(scope));
}
