import { apiKeys } from '../../generated/tables.ts';
import { formatColumns, pickColumns, type RowOf } from '../../platform/db/columns.ts';
import { type Queryable, statement } from '../../platform/db/statement.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { OperatorError } from '../../platform/operator-error.ts';
import { newId } from '../../platform/uuid.ts';
import { type AccountEnding, endStatement, ofAccounts } from '../account/endings.ts';
import { LOCK_ACCOUNT } from '../account/store.ts';
import type { StricterDocuments } from '../principal.ts';
import type { Scope } from '../scopes.ts';
import { hashSecret, secretFormat } from '../secret-format.ts';

/** Names these credentials among all. */
export const API_KEY_KIND = 'api-key';
export const API_KEY = secretFormat('cga_');
const SHOWN_LENGTH = 10;

/** The part of a key that may be shown to identify it. */
export const shownPrefix = (key: string): string => key.slice(0, SHOWN_LENGTH);

interface NewApiKey {
  readonly userId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt?: Date | undefined;
  /** Overrides of the burst and the sustained rate in the settings. */
  readonly burst?: number | undefined;
  readonly perSecond?: number | undefined;
  readonly documents?: StricterDocuments | undefined;
}

/** The key as it is stored, which is shown to its owner. */
export type StoredApiKey = RowOf<typeof shownKeys>;

const shownKeys = pickColumns(apiKeys, [
  'id',
  'userId',
  'name',
  'prefix',
  'scopes',
  'createdAt',
  'lastUsedAt',
  'expiresAt',
]);

/** The columns of a StoredApiKey. */
export const API_KEY_COLUMNS = formatColumns(shownKeys);

/** Dated by the database's clock, which also says what has expired. */
const INSERT = statement<StoredApiKey>(
  'api_key_insert',
  `INSERT INTO api_keys (id, user_id, name, prefix, hash, scopes, expires_at, burst, per_second, documents)
   SELECT $1::uuid, $2::uuid, $3, $4, $5::bytea, $6::text[], $7::timestamptz, $8::int, $9::float8, $10
   WHERE $7::timestamptz IS NULL OR $7::timestamptz > clock_timestamp()
   RETURNING ${API_KEY_COLUMNS}`,
);

/** A key would expire before it can be used. */
export class KeyExpiredError extends OperatorError {
  constructor() {
    super('The expiry of an API key must be in the future.');
  }
}

/**
 * Creates a key for an account, regardless of its limit. The returned key is stored nowhere, only its hash. Throws
 * KeyExpiredError, DatabaseError.
 */
export async function createApiKey(
  db: Queryable,
  { userId, name, scopes, expiresAt, burst, perSecond, documents }: NewApiKey,
): Promise<{ id: string; key: string; apiKey: StoredApiKey }> {
  const key = API_KEY.generate();
  const [apiKey] = await db.query(INSERT, [
    newId(),
    userId,
    name,
    shownPrefix(key),
    hashSecret(key),
    scopes,
    expiresAt ?? null,
    burst ?? null,
    perSecond ?? null,
    documents ?? null,
  ]);
  if (apiKey === undefined) throw new KeyExpiredError();
  return { id: apiKey.id, key, apiKey };
}

/** SQL of ids and names, for reports. */
export const API_KEY_NAMES = 'SELECT k.id::text AS id, k.name FROM api_keys k';

/** Contract section 5: keys of an account that are neither revoked nor expired. */
export const MAX_LIVE_KEYS = 100;
/** Contract section 5: with those that have ended, which are kept for 30 days. */
const MAX_KEPT_KEYS = 1_000;
const TOO_MANY_LIVE = `An account may have at most ${MAX_LIVE_KEYS} API keys that are neither revoked nor expired: revoke one first.`;
const TOO_MANY_KEPT = `An account may have at most ${MAX_KEPT_KEYS} API keys, those counted that were revoked or expired in the last 30 days: use one for longer.`;

/** The account has as many keys as it may. The message is meant for the requester. */
export class KeyLimitError extends OperatorError {}

const COUNT = statement<{ live: number; kept: number }>(
  'api_keys_count',
  `SELECT count(*)::int AS "kept",
     count(*) FILTER (WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()))::int AS "live"
   FROM api_keys WHERE user_id = $1`,
);

async function checkKeyLimit(transaction: Queryable, userId: string): Promise<void> {
  await transaction.query(LOCK_ACCOUNT, [userId]);
  const [row] = await transaction.query(COUNT, [userId]);
  const { live, kept } = row ?? { live: 0, kept: 0 };
  if (live >= MAX_LIVE_KEYS) throw new KeyLimitError(TOO_MANY_LIVE);
  if (kept >= MAX_KEPT_KEYS) throw new KeyLimitError(TOO_MANY_KEPT);
}

/**
 * Creates a key for an account as part of `work`. The limit is exact under concurrency. Throws KeyLimitError,
 * KeyExpiredError, DatabaseError.
 */
export async function createApiKeyWithinLimit(
  work: UnitOfWork,
  key: NewApiKey,
): ReturnType<typeof createApiKey> {
  await checkKeyLimit(work, key.userId);
  return createApiKey(work, key);
}

const REVOKE = statement<{ userId: string }>(
  'api_key_revoke',
  `UPDATE api_keys SET revoked_at = now()
   WHERE id = $1 AND revoked_at IS NULL AND ($2::uuid IS NULL OR user_id = $2) RETURNING user_id AS "userId"`,
);

/**
 * Revokes a key for good, and returns the id of its account. Undefined if there is no such key, it belongs to another
 * account, or it is already revoked. Throws DatabaseError.
 */
export async function revokeApiKey(db: Queryable, id: string, userId?: string): Promise<string | undefined> {
  return (await db.query(REVOKE, [id, userId ?? null]))[0]?.userId;
}

/** Kept for their owner to see, as those that are revoked. */
export const keysEnd: AccountEnding = {
  kind: 'apiKeys',
  words: 'API keys',
  ofPassword: false,
  alone: { option: 'keys', streamTokens: `t.credential_kind = '${API_KEY_KIND}'` },
  all: endStatement(
    'account_end_keys',
    `UPDATE api_keys SET revoked_at = now() WHERE ${ofAccounts()} AND revoked_at IS NULL`,
  ),
  surplus: [
    endStatement(
      'account_surplus_keys',
      `UPDATE api_keys SET revoked_at = now() WHERE id IN (
         SELECT id FROM api_keys WHERE ${ofAccounts()} AND revoked_at IS NULL OFFSET $2 LIMIT $2)`,
    ),
  ],
};

const SUSPEND = statement<{ account: string }>(
  'api_key_suspend',
  `UPDATE api_keys SET suspended_at = CASE WHEN $2 THEN now() END
   WHERE id = $1 AND revoked_at IS NULL AND (suspended_at IS NULL) = $2 RETURNING user_id AS account`,
);

/**
 * Suspends a key, or has it work again, and returns the id of its account. Undefined if there is no such key, it is revoked,
 * or there is nothing to change. Throws DatabaseError.
 */
export async function suspendApiKey(
  db: Queryable,
  id: string,
  suspended: boolean,
): Promise<{ readonly account: string } | undefined> {
  return (await db.query(SUSPEND, [id, suspended]))[0];
}

interface Limited {
  readonly account: string;
  /** Null: as the settings say. */
  readonly burst: number | null;
  readonly perSecond: number | null;
}

const SET_LIMITS = statement<Limited>(
  'api_key_set_limits',
  `UPDATE api_keys SET burst = CASE WHEN $2 THEN NULL ELSE coalesce($3::int, burst) END,
     per_second = CASE WHEN $2 THEN NULL ELSE coalesce($4::float8, per_second) END
   WHERE id = $1 AND revoked_at IS NULL RETURNING user_id AS account, burst, per_second AS "perSecond"`,
);

/**
 * Sets those limits of a key that are given; without `limits`, it has those of the settings again. Undefined if there is no
 * such key, or it is revoked. Throws DatabaseError.
 */
export async function setApiKeyLimits(
  db: Queryable,
  id: string,
  limits: { readonly burst?: number; readonly perSecond?: number } | undefined,
): Promise<Limited | undefined> {
  const { burst = null, perSecond = null } = limits ?? {};
  return (await db.query(SET_LIMITS, [id, limits === undefined, burst, perSecond]))[0];
}
