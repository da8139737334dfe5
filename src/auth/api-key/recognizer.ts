import type { ApiKey, User } from '../../generated/tables.ts';
import type { Presented, Recognizer } from '../authenticate.ts';
import { createCredentialCache, type SecretRow, type SecretServices, storedSecrets } from '../look-up.ts';
import { overridesOf, type Principal, type StoredOverrides } from '../principal.ts';
import { effectiveScopes } from '../scopes.ts';
import { API_KEY, API_KEY_KIND } from './store.ts';
import { createApiKeyUses } from './uses.ts';

interface KeyRow
  extends SecretRow,
    StoredOverrides,
    Pick<User, 'role'>,
    Pick<ApiKey, 'scopes' | 'expiresAt'> {
  /** Time to expiry, by the database's clock. */
  readonly leftMs: number | null;
}

/** A key row with the principal it authenticates. */
interface KnownKey {
  readonly row: KeyRow;
  readonly principal: Principal;
  /** Expiry in elapsed time. */
  readonly endsMs: number;
}

const PLACES = new Set<Presented['place']>(['authorization', 'query']);

/**
 * Resolves API keys. A wrong checksum never reaches the database; a known key does at most twice a second.
 */
export function apiKeyRecognizer(services: SecretServices): Recognizer {
  const { clock } = services;
  const known = createCredentialCache<KnownKey | undefined>(clock);
  const noteAddress = createApiKeyUses(services);
  const keys = storedSecrets<KeyRow>(services, {
    kind: API_KEY_KIND,
    what: 'an API key',
    table: 'api_keys',
    usedAt: 'last_used_at',
    joins: 'JOIN users u ON u.id = s.user_id',
    ended: `s.revoked_at IS NOT NULL OR s.suspended_at IS NOT NULL OR u.disabled_at IS NOT NULL
      OR coalesce(s.expires_at <= now(), false)`,
    columns: [
      'u.role, s.scopes, s.burst, s.per_second AS "perSecond", s.documents, s.expires_at AS "expiresAt"',
      '(extract(epoch FROM s.expires_at - now()) * 1000)::float8 AS "leftMs"',
    ],
    refusal: 'The API key is unknown, revoked, suspended or expired.',
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
        return { outcome: 'invalid', kind: API_KEY_KIND, reason: 'The API key is malformed.' };
      const found = await known(value, () => ask(value));
      if (found === undefined || found.row.ended || found.endsMs <= clock.elapsedMs())
        return keys.refused(found?.row);
      const { row, principal } = found;
      return {
        ...{ outcome: 'valid', principal },
        used(use) {
          keys.noteUse(row);
          if (use !== undefined) noteAddress({ keyId: row.id, ...use });
        },
      };
    },
    endedBehind: `NOT EXISTS (SELECT FROM api_keys k WHERE k.id = t.credential_id::uuid AND k.revoked_at IS NULL
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
