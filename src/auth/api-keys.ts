import { deletion } from '../database/jobs.ts';
import { formatColumns, pickColumns, type Queryable, type RowOf, statement } from '../database/statement.ts';
import type { UnitOfWork } from '../database/unit-of-work.ts';
import { type ApiKey, apiKeys, type User } from '../generated/tables.ts';
import { OperatorError } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { LOCK_ACCOUNT } from './accounts.ts';
import type { AuthStrategy, CredentialUse, ExtractedCredential } from './authenticate.ts';
import { overridesOf, type Principal, type StoredOverrides, type StricterDocuments } from './principal.ts';
import { type CredentialRevocation, inAccountsSql, revocationStatement } from './revocation.ts';
import { effectiveScopes, type Scope } from './scopes.ts';
import {
  createCredentialCache,
  hashSecret,
  type SecretRow,
  type SecretServices,
  secretFormat,
  storedSecrets,
  storeOncePerMinute,
  type UseServices,
} from './secrets.ts';

const API_KEY_KIND = 'api-key';
export const API_KEY = secretFormat('cga_');
const SHOWN_LENGTH = 10;

export const shownPrefix = (key: string): string => key.slice(0, SHOWN_LENGTH);

export interface NewApiKey {
  readonly userId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt?: Date | undefined;
  /** Both override the burst and the sustained rate of the settings. */
  readonly burst?: number | undefined;
  readonly perSecond?: number | undefined;
  readonly documents?: StricterDocuments | undefined;
}

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

export const API_KEY_COLUMNS = formatColumns(shownKeys);

/** The database's clock dates the key and decides when the key expires. */
const INSERT = statement<StoredApiKey>(
  'api_key_insert',
  `INSERT INTO api_keys (id, user_id, name, prefix, hash, scopes, expires_at, burst, per_second, documents)
   SELECT $1::uuid, $2::uuid, $3, $4, $5::bytea, $6::text[], $7::timestamptz, $8::int, $9::float8, $10
   WHERE $7::timestamptz IS NULL OR $7::timestamptz > clock_timestamp()
   RETURNING ${API_KEY_COLUMNS}`,
);

export class KeyExpiredError extends OperatorError {
  constructor() {
    super('The expiry of an API key must be in the future.');
  }
}

/**
 * Creates a key regardless of the account's limit. The database stores only the hash of the returned key.
 * @throws {KeyExpiredError}
 * @throws {DatabaseError}
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

export const API_KEY_NAMES = 'SELECT k.id::text AS id, k.name FROM api_keys k';

/** The limit counts the keys of an account that are neither revoked nor expired (contract: limits). */
export const MAX_LIVE_KEYS = 100;
/** The limit includes revoked and expired keys, which are retained for 30 days (contract: limits). */
const MAX_RETAINED_KEYS = 1_000;
const TOO_MANY_LIVE = `An account may have at most ${MAX_LIVE_KEYS} API keys that are neither revoked nor expired. Revoke one first.`;
const TOO_MANY_KEPT = `An account may have at most ${MAX_RETAINED_KEYS} API keys, including those that were revoked or expired in the last 30 days. Use an existing key.`;

/** The message is shown to the requester. */
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
  if (kept >= MAX_RETAINED_KEYS) throw new KeyLimitError(TOO_MANY_KEPT);
}

/**
 * The limit is exact under concurrency.
 * @throws {KeyLimitError}
 * @throws {KeyExpiredError}
 * @throws {DatabaseError}
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
 * @returns the id of the account; undefined if the key does not exist, belongs to another account, or is
 * already revoked
 * @throws {DatabaseError}
 */
export async function revokeApiKey(db: Queryable, id: string, userId?: string): Promise<string | undefined> {
  return (await db.query(REVOKE, [id, userId ?? null]))[0]?.userId;
}

/** Revoked keys are retained, so that their owner still sees them. */
export const apiKeyRevocation: CredentialRevocation = {
  kind: 'apiKeys',
  words: 'API keys',
  onPasswordChange: false,
  separately: { option: 'api-keys', streamTokens: `t.credential_kind = '${API_KEY_KIND}'` },
  all: revocationStatement(
    'account_end_keys',
    `UPDATE api_keys SET revoked_at = now() WHERE ${inAccountsSql()} AND revoked_at IS NULL`,
  ),
  surplus: [
    revocationStatement(
      'account_surplus_keys',
      `UPDATE api_keys SET revoked_at = now() WHERE id IN (
         SELECT id FROM api_keys WHERE ${inAccountsSql()} AND revoked_at IS NULL OFFSET $2 LIMIT $2)`,
    ),
  ],
};

const SUSPEND = statement<{ account: string }>(
  'api_key_suspend',
  `UPDATE api_keys SET suspended_at = CASE WHEN $2 THEN now() END
   WHERE id = $1 AND revoked_at IS NULL AND (suspended_at IS NULL) = $2 RETURNING user_id AS account`,
);

/**
 * @returns the id of the account; undefined if the key does not exist, is revoked, or is already in that
 * state
 * @throws {DatabaseError}
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
  /** Null means the limit of the settings. */
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
 * Without `limits`, the limits of the settings apply again.
 * @returns undefined if the key does not exist or is revoked
 * @throws {DatabaseError}
 */
export async function setApiKeyLimits(
  db: Queryable,
  id: string,
  limits: { readonly burst?: number; readonly perSecond?: number } | undefined,
): Promise<Limited | undefined> {
  const { burst = null, perSecond = null } = limits ?? {};
  return (await db.query(SET_LIMITS, [id, limits === undefined, burst, perSecond]))[0];
}

interface NewUse extends CredentialUse {
  readonly keyId: string;
}

/** Only the IP addresses that used a key last are retained. */
const MAX_ADDRESSES = 50;
const MAX_USER_AGENT_LENGTH = 200;

/**
 * Instances store the same rows, so each takes its locks in one order. A use of a locked key is skipped, and
 * the next use is stored. The deletion does not see the new rows, so it leaves room for them. The deletion
 * waits for no lock.
 */
const STORE = statement<never>(
  'api_key_uses_store',
  `WITH stored AS (
     INSERT INTO api_key_uses (key_id, address, user_agent, first_at, last_at)
     SELECT u.key_id, u.address, u.user_agent, now(), now()
     FROM unnest($1::uuid[], $2::text[], $3::text[]) AS u (key_id, address, user_agent)
     JOIN (SELECT id FROM api_keys WHERE id = ANY($1::uuid[]) FOR KEY SHARE SKIP LOCKED) AS k ON k.id = u.key_id
     ORDER BY u.key_id, u.address
     ON CONFLICT (key_id, address) DO UPDATE SET user_agent = excluded.user_agent, last_at = excluded.last_at
     RETURNING key_id, address),
   ranked AS (
     SELECT o.key_id, o.address, (SELECT count(*) FROM stored AS s WHERE s.key_id = o.key_id)
       + row_number() OVER (PARTITION BY o.key_id ORDER BY o.last_at DESC, o.address) AS place
     FROM api_key_uses AS o
     WHERE o.key_id = ANY($1::uuid[]) AND (o.key_id, o.address) NOT IN (SELECT key_id, address FROM stored))
   DELETE FROM api_key_uses WHERE (key_id, address) IN (
     SELECT o.key_id, o.address FROM api_key_uses AS o JOIN ranked USING (key_id, address)
     WHERE place > ${MAX_ADDRESSES} FOR UPDATE OF o SKIP LOCKED)`,
);

function createApiKeyUses({ database, ...services }: UseServices) {
  return storeOncePerMinute<NewUse>({
    ...services,
    failure: 'auth.key_usage_store_failed',
    identityOf: ({ keyId, address }) => `${keyId} ${address}`,
    async store(uses) {
      await database.query(STORE, [
        uses.map(({ keyId }) => keyId),
        uses.map(({ address }) => address),
        uses.map(({ userAgent }) => userAgent?.slice(0, MAX_USER_AGENT_LENGTH) ?? null),
      ]);
    },
  });
}

/** IP addresses are personal data, so they are deleted 30 days after their last use. */
export const oldApiKeyUses = deletion('api_key_uses', {
  table: 'api_key_uses',
  key: 'key_id, address',
  condition: "last_at <= now() - interval '30 days'",
});

interface KeyRow
  extends SecretRow,
    StoredOverrides,
    Pick<User, 'role'>,
    Pick<ApiKey, 'scopes' | 'expiresAt'> {
  /** Milliseconds by the database's clock. */
  readonly leftMs: number | null;
}

interface KnownKey {
  readonly row: KeyRow;
  readonly principal: Principal;
  /** Expiry in elapsed time. */
  readonly endsMs: number;
}

const PLACES = new Set<ExtractedCredential['place']>(['authorization', 'query']);

/**
 * Resolves API keys. The checksum rejects mistyped keys without a query. An instance looks a known key up at
 * most twice a second.
 */
export function createApiKeyStrategy(services: SecretServices): AuthStrategy {
  const { clock } = services;
  const known = createCredentialCache<KnownKey | undefined>(clock);
  const recordIpAddress = createApiKeyUses(services);
  const keys = storedSecrets<KeyRow>(services, {
    kind: API_KEY_KIND,
    table: 'api_keys',
    usedAt: 'last_used_at',
    joins: 'JOIN users u ON u.id = s.user_id',
    invalidSql: `s.revoked_at IS NOT NULL OR s.suspended_at IS NOT NULL OR u.disabled_at IS NOT NULL
      OR coalesce(s.expires_at <= now(), false)`,
    columns: [
      'u.role, s.scopes, s.burst, s.per_second AS "perSecond", s.documents, s.expires_at AS "expiresAt"',
      '(extract(epoch FROM s.expires_at - now()) * 1000)::float8 AS "leftMs"',
    ],
    rejection: 'The API key is unknown, revoked, suspended or expired.',
  });

  async function ask(key: string): Promise<KnownKey | undefined> {
    const askedMs = clock.elapsedMs();
    const row = await keys.find(key);
    return row && { row, principal: principalOf(row), endsMs: askedMs + (row.leftMs ?? Infinity) };
  }

  return {
    kind: API_KEY_KIND,
    async resolve({ place, value }) {
      if (!PLACES.has(place) || !API_KEY.looksLike(value)) return { outcome: 'not-mine' };
      if (!API_KEY.isWellFormed(value))
        return {
          outcome: 'invalid',
          kind: API_KEY_KIND,
          reason: 'The API key is malformed. Check that it is complete.',
        };
      const found = await known(value, () => ask(value));
      if (found === undefined || found.row.invalid || found.endsMs <= clock.elapsedMs())
        return keys.rejected(found?.row);
      const { row, principal } = found;
      return {
        ...{ outcome: 'valid', principal },
        used(use) {
          keys.recordUse(row);
          if (use !== undefined) recordIpAddress({ keyId: row.id, ...use });
        },
      };
    },
    invalidCredentialSql: `NOT EXISTS (SELECT FROM api_keys k WHERE k.id = t.credential_id::uuid AND k.revoked_at IS NULL
      AND coalesce(k.expires_at > now(), true))`,
    async renew({ credentialId }) {
      const row = await keys.holding(credentialId);
      return row && principalOf(row);
    },
  };
}

function principalOf(row: KeyRow): Principal {
  return {
    kind: API_KEY_KIND,
    userId: row.userId,
    role: row.role,
    scopes: effectiveScopes(row.scopes, row.role),
    clientId: `${row.userId}:key:${row.id}`,
    credentialId: row.id,
    ...overridesOf(row),
    expiresAtMs: row.expiresAt?.getTime(),
  };
}
