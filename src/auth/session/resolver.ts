import type { Clock } from '../../platform/clock.ts';
import { type Queryable, statement } from '../../platform/db/statement.ts';
import type { Logger } from '../../platform/log.ts';
import type { CredentialResolver, Resolution } from '../authenticate.ts';
import { createLastUse } from '../last-use.ts';
import { userClientId } from '../principal.ts';
import { type Role, scopesOfRole } from '../scopes.ts';
import { hashSessionId, isWellFormedSessionId } from './session-id.ts';
import { IDLE_MS } from './store.ts';

interface SessionRow {
  readonly id: string;
  readonly userId: string;
  readonly role: Role;
  readonly lastSeenAt: Date;
  readonly expiresAt: Date;
  readonly absoluteExpiresAt: Date;
  readonly disabled: boolean;
}

const SELECT = `SELECT s.id, s.user_id AS "userId", u.role, s.last_seen_at AS "lastSeenAt", s.expires_at AS "expiresAt",
    s.absolute_expires_at AS "absoluteExpiresAt", u.disabled_at IS NOT NULL AS "disabled"
  FROM sessions s JOIN users u ON u.id = s.user_id`;
const FIND_BY_HASH = statement<SessionRow>('session_by_hash', `${SELECT} WHERE s.hash = $1`);
const FIND_BY_ID = statement<SessionRow>('session_by_id', `${SELECT} WHERE s.id = $1`);

const TOUCH = statement<never>(
  'session_touch',
  `UPDATE sessions SET last_seen_at = $2, expires_at = LEAST($3::timestamptz, absolute_expires_at)
   WHERE id = $1 AND last_seen_at < $2 AND expires_at > $2`,
);

const UNKNOWN: Resolution = { outcome: 'invalid', reason: 'The session is unknown, ended or expired.' };

export interface SessionResolverOptions {
  readonly database: Queryable;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Knows the session cookie. Nothing of it is cached: an ended session is refused from the next request on, on every
 * instance, for one indexed read a request.
 */
export function sessionResolver({ database, clock, log }: SessionResolverOptions): CredentialResolver {
  const noteUse = createLastUse({
    clock,
    log,
    what: 'a session',
    store: (id, at) => database.query(TOUCH, [id, at, new Date(at.getTime() + IDLE_MS)]),
  });

  const holds = (row: SessionRow | undefined, nowMs: number): row is SessionRow =>
    row !== undefined && !row.disabled && row.expiresAt.getTime() > nowMs;

  return {
    kind: 'session',
    async resolve({ place, value }) {
      if (place !== 'cookie') return { outcome: 'not-mine' };
      if (!isWellFormedSessionId(value)) return UNKNOWN;
      const nowMs = clock.now();
      const [row] = await database.query(FIND_BY_HASH, [hashSessionId(value)]);
      if (!holds(row, nowMs)) return UNKNOWN;
      return {
        outcome: 'valid',
        used: () => noteUse(row.id, row.lastSeenAt),
        principal: {
          kind: 'session',
          userId: row.userId,
          role: row.role,
          scopes: new Set(scopesOfRole(row.role)),
          clientId: userClientId(row.userId),
          credentialId: row.id,
          rateLimit: undefined,
          expiresAtMs: row.absoluteExpiresAt.getTime(),
        },
      };
    },
    async stillValid({ credentialId }) {
      const [row] = await database.query(FIND_BY_ID, [credentialId ?? null]);
      return holds(row, clock.now());
    },
  };
}
