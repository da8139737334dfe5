import { LRUCache } from 'lru-cache';
import type { Recognizer } from '../authenticate.ts';
import { type Principal, SESSION, userClientId } from '../principal.ts';
import { type Check, Provisional } from '../provisional.ts';
import { type Role, scopesOfRole } from '../scopes.ts';
import { type SecretRow, type SecretServices, storedSecrets } from '../stored-secret.ts';
import { IDLE_END, isWellFormedSessionId } from './store.ts';

interface SessionRow extends SecretRow {
  readonly role: Role;
  readonly absoluteExpiresAt: Date;
}

const MAX_REMEMBERED = 10_000;

interface Known {
  readonly row: SessionRow;
  readonly principal: Principal;
}

/**
 * Resolves the session cookie. An ended session is refused from the next request on, on every instance: the database is
 * asked at each. What is remembered of a session only saves that question a statement of its own.
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

  /** By the session ids in cookies. */
  const known = new LRUCache<string, Known>({ max: MAX_REMEMBERED });

  /** Whether it still is a session of the same role. The rest of a principal never changes. */
  const checkOf = (sessionId: string, { row }: Known): Check => ({
    kind: SESSION,
    sql: (id = '', role = '') => sessions.freshIf(id, `u.role = ${role}`),
    values: [row.id, row.role],
    async lookUp() {
      const found = await sessions.find(sessionId, row.userId);
      return found === undefined || found.ended || found.role !== row.role ? null : found.fresh;
    },
    onFound(fresh, used) {
      if (fresh === null) known.delete(sessionId);
      else if (used) sessions.noteUse({ ...row, fresh });
    },
  });

  return {
    kind: SESSION,
    async resolve({ place, value }, options) {
      if (place !== 'cookie') return { outcome: 'not-mine' };
      const remembered = options?.mayBeProvisional ? known.get(value) : undefined;
      if (remembered !== undefined) {
        const provisional = new Provisional(checkOf(value, remembered));
        return { outcome: 'valid', principal: remembered.principal, used: provisional.use, provisional };
      }
      const row = isWellFormedSessionId(value) ? await sessions.find(value) : undefined;
      if (row === undefined || row.ended) {
        known.delete(value);
        return sessions.refused(row);
      }
      const principal = principalOf(row);
      known.set(value, { row, principal });
      return { outcome: 'valid', principal, used: () => sessions.noteUse(row) };
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
