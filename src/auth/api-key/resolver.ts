import { LRUCache } from 'lru-cache';
import type { Clock } from '../../platform/clock.ts';
import { type Queryable, statement } from '../../platform/db/statement.ts';
import type { Logger } from '../../platform/log.ts';
import type { CredentialResolver, Resolution } from '../authenticate.ts';
import type { Principal } from '../principal.ts';
import { effectiveScopes, type Role } from '../scopes.ts';
import { hashApiKey, isWellFormedApiKey, looksLikeApiKey } from './format.ts';

/** A revoked key is refused everywhere within a second (contract section 3): what is cached lives half of that. */
const CACHE_TTL_MS = 500;
const CACHE_ENTRIES = 10_000;
const LAST_USED_INTERVAL_MS = 60_000;

interface KeyRow {
  readonly id: string;
  readonly userId: string;
  readonly role: Role;
  readonly scopes: string[];
  readonly expiresAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly ended: boolean;
  readonly burst: number | null;
  readonly perSecond: number | null;
}

const SELECT = `SELECT k.id, k.user_id AS "userId", u.role, k.scopes, k.expires_at AS "expiresAt", k.last_used_at AS "lastUsedAt",
     (k.revoked_at IS NOT NULL OR u.disabled_at IS NOT NULL) AS "ended",
     k.burst, k.per_second AS "perSecond"
   FROM api_keys k JOIN users u ON u.id = k.user_id`;
const FIND_KEY = statement<KeyRow>('api_key_by_hash', `${SELECT} WHERE k.hash = $1`);
const FIND_KEY_BY_ID = statement<KeyRow>('api_key_by_id', `${SELECT} WHERE k.id = $1`);

const TOUCH_KEY = statement<never>(
  'api_key_touch',
  'UPDATE api_keys SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)',
);

const UNKNOWN: Resolution = { outcome: 'invalid', reason: 'The API key is unknown, revoked or expired.' };

export interface ApiKeyResolverOptions {
  readonly database: Queryable;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Knows API keys. A wrong checksum never reaches the database; a known key does at most twice a second. */
export function apiKeyResolver({ database, clock, log }: ApiKeyResolverOptions): CredentialResolver {
  const cache = new LRUCache<string, { found: Promise<KeyRow | undefined>; untilMs: number }>({
    max: CACHE_ENTRIES,
  });
  const touched = new LRUCache<string, number>({ max: CACHE_ENTRIES });

  function find(key: string, nowMs: number): Promise<KeyRow | undefined> {
    const cached = cache.get(key);
    if (cached !== undefined && cached.untilMs > nowMs) return cached.found;
    const found = database.query(FIND_KEY, [hashApiKey(key)]).then(([row]) => row);
    cache.set(key, { found, untilMs: nowMs + CACHE_TTL_MS });
    found.catch(() => cache.delete(key));
    return found;
  }

  /** Last-used times are for people: one write a minute and key, and no request waits for it. */
  function touch(row: KeyRow, nowMs: number): void {
    const last = Math.max(touched.get(row.id) ?? 0, row.lastUsedAt?.getTime() ?? 0);
    if (nowMs - last < LAST_USED_INTERVAL_MS) return;
    touched.set(row.id, nowMs);
    database
      .query(TOUCH_KEY, [row.id, new Date(nowMs)])
      .catch((error: unknown) => log.warn({ err: error }, 'the last-used time of an API key was not stored'));
  }

  const holds = (row: KeyRow | undefined, nowMs: number): row is KeyRow =>
    row !== undefined && !row.ended && (row.expiresAt === null || row.expiresAt.getTime() > nowMs);

  return {
    kind: 'api-key',
    async resolve({ place, value }) {
      if (place === 'cookie' || !looksLikeApiKey(value)) return { outcome: 'not-mine' };
      if (!isWellFormedApiKey(value)) return { outcome: 'invalid', reason: 'The API key is malformed.' };
      const nowMs = clock.now();
      const row = await find(value, nowMs);
      if (!holds(row, nowMs)) return UNKNOWN;
      touch(row, nowMs);
      return {
        outcome: 'valid',
        principal: {
          kind: 'api-key',
          userId: row.userId,
          role: row.role,
          scopes: effectiveScopes(row.scopes, row.role),
          clientId: `${row.userId}:key:${row.id}`,
          credentialId: row.id,
          rateLimit: rateLimitOf(row),
          expiresAtMs: row.expiresAt?.getTime(),
        },
      };
    },
    async stillValid({ credentialId }) {
      const [row] = await database.query(FIND_KEY_BY_ID, [credentialId ?? null]);
      return holds(row, clock.now());
    },
  };
}

function rateLimitOf({ burst, perSecond }: KeyRow): Principal['rateLimit'] {
  if (burst === null && perSecond === null) return undefined;
  return { ...(burst === null ? {} : { burst }), ...(perSecond === null ? {} : { perSecond }) };
}
