import type { Clock } from '../../platform/clock.ts';
import { gathered } from '../../platform/db/gathered.ts';
import { statement } from '../../platform/db/statement.ts';
import type { Logger } from '../../platform/log.ts';
import type { CredentialResolver, Invalid, Presented } from '../authenticate.ts';
import { createCredentialCache } from '../credential-cache.ts';
import { createLastUse, FRESH } from '../last-use.ts';
import { type LookUpDatabase, lookUpByHash, lookUpById } from '../look-up.ts';
import type { Principal } from '../principal.ts';
import { effectiveScopes, type Role } from '../scopes.ts';
import { touch } from '../touch.ts';
import { hashApiKey, isWellFormedApiKey, looksLikeApiKey } from './format.ts';

interface KeyRow {
  readonly id: string;
  readonly userId: string;
  readonly role: Role;
  readonly scopes: string[];
  readonly expiresAt: Date | null;
  /** Time to expiry, by the database's clock. */
  readonly leftMs: number | null;
  /** Whether its last use was stored so recently that it need not be stored again. */
  readonly fresh: boolean;
  /** Revoked, expired by the database's clock, or of a disabled account. */
  readonly ended: boolean;
  readonly burst: number | null;
  readonly perSecond: number | null;
}

const COLUMNS = `k.id, k.user_id AS "userId", u.role, k.scopes, k.expires_at AS "expiresAt",
     (extract(epoch FROM k.expires_at - now()) * 1000)::float8 AS "leftMs",
     coalesce(k.last_used_at > now() - ${FRESH}, false) AS "fresh",
     (k.revoked_at IS NOT NULL OR u.disabled_at IS NOT NULL OR coalesce(k.expires_at <= now(), false)) AS "ended",
     k.burst, k.per_second AS "perSecond"`;
const FROM = 'FROM api_keys k JOIN users u ON u.id = k.user_id';
const FIND_KEYS = statement<KeyRow & { hash: Uint8Array }>(
  'api_keys_by_hash',
  `SELECT k.hash, ${COLUMNS} ${FROM} WHERE k.hash = ANY($1::bytea[])`,
);
const FIND_KEYS_BY_ID = statement<KeyRow>(
  'api_keys_by_id',
  `SELECT ${COLUMNS} ${FROM} WHERE k.id = ANY($1::uuid[])`,
);

const TOUCH_KEYS = touch(
  'api_keys_touch',
  'api_keys',
  'last_used_at = now()',
  '(last_used_at IS NULL OR last_used_at < now())',
);

/** A key row with the principal it authenticates. */
interface KnownKey {
  readonly row: KeyRow;
  readonly principal: Principal;
  /** Expiry in elapsed time. */
  readonly endsMs: number;
}

const PLACES = new Set<Presented['place']>(['authorization', 'query']);
const unknown = (accountId?: string): Invalid => ({
  outcome: 'invalid',
  kind: 'api-key',
  reason: 'The API key is unknown, revoked or expired.',
  accountId,
});

export interface ApiKeyResolverOptions {
  readonly database: LookUpDatabase;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Resolves API keys. A wrong checksum never reaches the database; a known key does at most twice a second.
 */
export function apiKeyResolver({ database, clock, log }: ApiKeyResolverOptions): CredentialResolver {
  const known = createCredentialCache<KnownKey | undefined>(clock);
  const noteUse = createLastUse({
    clock,
    log,
    what: 'an API key',
    store: gathered(async (ids: readonly string[]) => {
      await database.query(TOUCH_KEYS, [ids]);
      return ids;
    }),
  });

  const findByHash = lookUpByHash(database, FIND_KEYS);
  const findById = lookUpById(database, FIND_KEYS_BY_ID);

  async function ask(key: string): Promise<KnownKey | undefined> {
    const askedMs = clock.elapsedMs();
    const row = await findByHash(hashApiKey(key));
    return row && { row, principal: principalOf(row), endsMs: askedMs + (row.leftMs ?? Infinity) };
  }

  return {
    kind: 'api-key',
    async resolve({ place, value }) {
      if (!PLACES.has(place) || !looksLikeApiKey(value)) return { outcome: 'not-mine' };
      if (!isWellFormedApiKey(value))
        return { outcome: 'invalid', kind: 'api-key', reason: 'The API key is malformed.' };
      const found = await known(value, () => ask(value));
      if (found === undefined || found.row.ended || found.endsMs <= clock.elapsedMs())
        return unknown(found?.row.userId);
      const { row, principal } = found;
      return { outcome: 'valid', principal, used: () => noteUse(row.id, row.fresh) };
    },
    async renew({ credentialId }) {
      const row = credentialId === undefined ? undefined : await findById(credentialId);
      return row === undefined || row.ended ? undefined : principalOf(row);
    },
  };
}

function principalOf(row: KeyRow): Principal {
  return {
    kind: 'api-key',
    userId: row.userId,
    role: row.role,
    scopes: effectiveScopes(row.scopes, row.role),
    clientId: `${row.userId}:key:${row.id}`,
    credentialId: row.id,
    rateLimit: rateLimitOf(row),
    expiresAtMs: row.expiresAt?.getTime(),
  };
}

function rateLimitOf({ burst, perSecond }: KeyRow): Principal['rateLimit'] {
  if (burst === null && perSecond === null) return undefined;
  return { ...(burst === null ? {} : { burst }), ...(perSecond === null ? {} : { perSecond }) };
}
