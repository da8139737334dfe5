import type { Recognizer } from '../authenticate.ts';
import { type Principal, SESSION, userClientId } from '../principal.ts';
import { type Role, scopesOfRole } from '../scopes.ts';
import { type SecretRow, type SecretServices, storedSecrets } from '../stored-secret.ts';
import { IDLE_END, isWellFormedSessionId } from './store.ts';

interface SessionRow extends SecretRow {
  readonly role: Role;
  readonly absoluteExpiresAt: Date;
}

/**
 * Resolves the session cookie. Nothing is cached: an ended session is refused from the next request on, on
 * every instance, for one indexed read per request.
 */
export function sessionRecognizer(services: SecretServices): Recognizer {
  const sessions = storedSecrets<SessionRow>(services, {
    kind: SESSION,
    what: 'a session',
    table: 'sessions',
    usedAt: 'last_seen_at',
    prolongedTo: `LEAST(${IDLE_END}, absolute_expires_at)`,
    joins: 'JOIN users u ON u.id = s.user_id',
    ended: 's.expires_at <= now() OR u.disabled_at IS NOT NULL',
    columns: ['u.role, s.absolute_expires_at AS "absoluteExpiresAt"'],
    refusal: 'The session is unknown, ended or expired.',
  });

  return {
    kind: SESSION,
    async resolve({ place, value }) {
      if (place !== 'cookie') return { outcome: 'not-mine' };
      const row = isWellFormedSessionId(value) ? await sessions.find(value) : undefined;
      if (row === undefined || row.ended) return sessions.refused(row);
      return { outcome: 'valid', principal: principalOf(row), used: () => sessions.noteUse(row) };
    },
    endedBehind: `NOT EXISTS (SELECT FROM sessions s WHERE s.id = t.credential_id::uuid AND s.expires_at > now())`,
    async renew({ credentialId }) {
      const row = await sessions.holding(credentialId);
      return row && principalOf(row);
    },
  };
}

function principalOf(row: SessionRow): Principal {
  return {
    kind: SESSION,
    userId: row.userId,
    role: row.role,
    scopes: new Set(scopesOfRole(row.role)),
    clientId: userClientId(row.userId),
    credentialId: row.id,
    rateLimit: undefined,
    expiresAtMs: row.absoluteExpiresAt.getTime(),
  };
}
