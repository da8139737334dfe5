import { type StoredPart, storedPart } from './stored-part.ts';

/** What the core stores about an account. Modules and features add what they store. */
export const PARTS: readonly StoredPart[] = [
  storedPart({
    name: 'apiKeys',
    tables: ['api_keys', 'api_key_uses'],
    alias: 'k',
    columns: `k.id, k.name, k.prefix, k.scopes, k.created_at AS "createdAt", k.last_used_at AS "lastUsedAt",
       k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt", k.suspended_at AS "suspendedAt", k.burst, k.per_second AS "perSecond", k.documents,
       (SELECT coalesce(json_agg(json_build_object('address', u.address, 'userAgent', u.user_agent, 'firstAt', u.first_at,
          'lastAt', u.last_at) ORDER BY u.last_at DESC, u.address), '[]') FROM api_key_uses u WHERE u.key_id = k.id) AS "uses"`,
  }),
  storedPart({
    name: 'sessions',
    tables: ['sessions'],
    alias: 's',
    columns: `s.id, s.user_agent AS "userAgent", s.created_at AS "createdAt", s.last_seen_at AS "lastSeenAt",
       s.expires_at AS "expiresAt", s.absolute_expires_at AS "absoluteExpiresAt"`,
  }),
  storedPart({
    name: 'streamTokens',
    tables: ['stream_tokens'],
    alias: 't',
    columns: `t.id, t.credential_kind AS "credentials", t.role, t.scopes, t.operation::json AS "operation",
       t.created_at AS "createdAt", t.last_used_at AS "lastUsedAt", t.expires_at AS "expiresAt", t.ends_at AS "endsAt"`,
  }),
  storedPart({
    name: 'limits',
    tables: ['account_limits'],
    alias: 'l',
    key: [['user_id', 'uuid', '00000000-0000-0000-0000-000000000000']],
    columns: 'l.burst, l.per_second AS "perSecond"',
  }),
  // Who else has changed it is not shown.
  storedPart({
    name: 'audit',
    tables: ['audit_log'],
    alias: 'a',
    owner: 'account_id',
    key: [['id', 'bigint', 0]],
    columns: `a.at, split_part(a.via, ':', 1) AS via, a.action, a.subject, a.detail - 'operator' AS detail, a.request_id AS "requestId"`,
  }),
  // Their bodies are sealed: only the client has the key.
  storedPart({
    name: 'storedResponses',
    tables: ['idempotency_keys'],
    alias: 'i',
    key: [['key_hash', 'bytea', Buffer.alloc(0)]],
    columns: 'i.status, i.created_at AS "createdAt"',
  }),
];
