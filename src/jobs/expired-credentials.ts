import { inBatches } from '../platform/db/in-batches.ts';
import { type Queryable, type Statement, statement } from '../platform/db/statement.ts';

/** Small, so that locks and transactions stay short: long ones would delay events. */
const BATCH = 500;

type Batch = Statement<{ one: number }>;

/** Deletes up to $1 rows of a table that meet a condition. Rows that somebody else is using wait for the next round. */
const deletion = (name: string, table: string, key: string, condition: string): Batch =>
  statement(
    name,
    `DELETE FROM ${table} WHERE (${key}) IN (
       SELECT ${key} FROM ${table} WHERE ${condition} LIMIT $1 FOR UPDATE SKIP LOCKED
     ) RETURNING 1 AS one`,
  );

const SESSIONS = deletion('sessions_drop', 'sessions', 'id', 'expires_at <= now()');
const STREAM_TOKENS = deletion('stream_tokens_drop', 'stream_tokens', 'id', 'expires_at <= now()');
const OAUTH_RECORDS = deletion('oauth_records_drop', 'oauth_records', 'model, hash', 'expires_at <= now()');
/** A margin of 120 seconds: on an instance whose clock is behind, a token is valid a little longer. */
const REVOKED_TOKENS = deletion(
  'revoked_tokens_drop',
  'revoked_tokens',
  'jti',
  "expires_at <= now() - interval '120 seconds'",
);
/** Contract section 8: their owner still sees them for this long. */
const USELESS = "<= now() - interval '30 days'";
const EXPIRED_KEYS = deletion('api_keys_drop_expired', 'api_keys', 'id', `expires_at ${USELESS}`);
const REVOKED_KEYS = deletion('api_keys_drop_revoked', 'api_keys', 'id', `revoked_at ${USELESS}`);

function dropAll(...batches: readonly Batch[]) {
  return async (db: Queryable, signal?: AbortSignal): Promise<number> => {
    let total = 0;
    for (const batch of batches)
      total += await inBatches(BATCH, async () => (await db.query(batch, [BATCH])).length, signal);
    return total;
  };
}

/** Each deletes what has expired, and returns how many rows. Throws DatabaseError. */
export const dropExpiredSessions = dropAll(SESSIONS);
export const dropExpiredStreamTokens = dropAll(STREAM_TOKENS);
/** Codes, refresh tokens, authorizations and sign-ins. */
export const dropExpiredOAuthRecords = dropAll(OAUTH_RECORDS);
/** Blocklist entries of expired tokens, which nobody can use any more. */
export const dropExpiredTokens = dropAll(REVOKED_TOKENS);
/** Keys that have been of no use for 30 days. */
export const dropOldApiKeys = dropAll(EXPIRED_KEYS, REVOKED_KEYS);
