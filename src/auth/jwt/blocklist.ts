import { type Queryable, statement } from '../../platform/db/statement.ts';
import { isBroken } from '../account/store.ts';

/** Longest jti on the blocklist. A token whose jti cannot be looked up is refused. */
const MAX_LENGTH = 255;

export function isRevocable(jti: string): boolean {
  return jti.length > 0 && jti.length <= MAX_LENGTH && !isBroken(jti);
}

export interface RevokedToken {
  readonly jti: string;
  /**
   * When the token expires. Without it the entry is kept for good: a token may last as long as its issuer
   * likes.
   */
  readonly expiresAt?: Date | undefined;
}

const REVOKE = statement<{ one: number }>(
  'token_revoke',
  'INSERT INTO revoked_tokens (jti, expires_at) VALUES ($1, $2) ON CONFLICT (jti) DO NOTHING RETURNING 1 AS one',
);

/** Revokes a token before its expiry. False if it was already revoked. Throws DatabaseError. */
export async function revokeToken(db: Queryable, { jti, expiresAt }: RevokedToken): Promise<boolean> {
  return (await db.query(REVOKE, [jti, expiresAt ?? null])).length > 0;
}
