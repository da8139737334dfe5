import { inBatches } from '../platform/db/in-batches.ts';
import { type Queryable, type Statement, statement } from '../platform/db/statement.ts';

/** Small, so that locks and transactions stay short: long ones would delay events. */
const BATCH = 500;

/**
 * Concurrent runs take other rows. A margin of 120 seconds: on an instance whose clock is behind, a token is
 * valid a little longer than by the database.
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
const DROP_STREAM_TOKENS = statement<{ one: number }>(
  'stream_tokens_drop',
  `DELETE FROM stream_tokens WHERE id IN (
     SELECT id FROM stream_tokens WHERE expires_at <= now() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
   ) RETURNING 1 AS one`,
);
const DROP_OAUTH_RECORDS = statement<{ one: number }>(
  'oauth_records_drop',
  `DELETE FROM oauth_records WHERE (model, hash) IN (
     SELECT model, hash FROM oauth_records WHERE expires_at <= now() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
   ) RETURNING 1 AS one`,
);

function dropAll(db: Queryable, batch: Statement<{ one: number }>): Promise<number> {
  return inBatches(BATCH, async () => (await db.query(batch, [BATCH])).length);
}

/** Drops expired sessions. Returns how many. Throws DatabaseError. */
export function dropExpiredSessions(db: Queryable): Promise<number> {
  return dropAll(db, DROP_SESSIONS);
}

/** Drops expired stream tokens. Returns how many. Throws DatabaseError. */
export function dropExpiredStreamTokens(db: Queryable): Promise<number> {
  return dropAll(db, DROP_STREAM_TOKENS);
}

/**
 * Drops the blocklist entries of expired tokens, which nobody can use any more. Returns how many. Throws
 * DatabaseError.
 */
export function dropExpiredTokens(db: Queryable): Promise<number> {
  return dropAll(db, DROP_TOKENS);
}

/**
 * Drops expired codes, refresh tokens, authorizations and sign-ins. Returns how many. Throws DatabaseError.
 */
export function dropExpiredOAuthRecords(db: Queryable): Promise<number> {
  return dropAll(db, DROP_OAUTH_RECORDS);
}
