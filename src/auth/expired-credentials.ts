import { type Queryable, type Statement, statement } from '../platform/db/statement.ts';

/** Small, so that no lock is held and no transaction open for long: that would delay events. */
const BATCH = 500;

/**
 * Whoever else is at it takes other rows. To an instance whose clock is behind, a token is good for a little longer than
 * to the database.
 */
const DROP_TOKENS = statement<{ one: number }>(
  'revoked_tokens_drop',
  `DELETE FROM revoked_tokens WHERE jti IN (
     SELECT jti FROM revoked_tokens WHERE expires_at <= now() - interval '120 seconds' ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
   ) RETURNING 1 AS one`,
);
const DROP_SESSIONS = statement<{ one: number }>(
  'sessions_drop',
  `DELETE FROM sessions WHERE id IN (
     SELECT id FROM sessions WHERE expires_at <= now() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
   ) RETURNING 1 AS one`,
);
const DROP_OAUTH_RECORDS = statement<{ one: number }>(
  'oauth_records_drop',
  `DELETE FROM oauth_records WHERE (model, hash) IN (
     SELECT model, hash FROM oauth_records WHERE expires_at <= now() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
   ) RETURNING 1 AS one`,
);

async function dropAll(db: Queryable, batch: Statement<{ one: number }>): Promise<number> {
  let total = 0;
  for (let count = BATCH; count === BATCH; total += count) count = (await db.query(batch, [BATCH])).length;
  return total;
}

/** Drops the sessions that have expired by themselves. How many. Throws DatabaseError. */
export function dropExpiredSessions(db: Queryable): Promise<number> {
  return dropAll(db, DROP_SESSIONS);
}

/** Drops the blocklist entries of tokens that have expired, which nobody can use any more. How many. Throws DatabaseError. */
export function dropExpiredTokens(db: Queryable): Promise<number> {
  return dropAll(db, DROP_TOKENS);
}

/** Drops codes, refresh tokens, authorizations and sign-ins that have expired. How many. Throws DatabaseError. */
export function dropExpiredOAuthRecords(db: Queryable): Promise<number> {
  return dropAll(db, DROP_OAUTH_RECORDS);
}
