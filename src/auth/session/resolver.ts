import type { Clock } from '../../platform/clock.ts';
import { statement } from '../../platform/db/statement.ts';
import type { Logger } from '../../platform/log.ts';
import type { CredentialResolver, Invalid } from '../authenticate.ts';
import { createLastUse, FRESH } from '../last-use.ts';
import { type LookUpDatabase, lookUpByHash, lookUpById } from '../look-up.ts';
import { type Principal, userClientId } from '../principal.ts';
import { type Role, scopesOfRole } from '../scopes.ts';
import { touch } from '../touch.ts';
import { hashSessionId, isWellFormedSessionId } from './session-id.ts';
import { IDLE_END } from './store.ts';

interface SessionRow {
  readonly id: string;
  readonly hash: Uint8Array;
  readonly userId: string;
  readonly role: Role;
  readonly absoluteExpiresAt: Date;
  /** Whether its last use was stored so recently that it need not be stored again. */
  readonly fresh: boolean;
  /** Expired by the database's clock, or of a disabled account. */
  readonly ended: boolean;
}

const SELECT = `SELECT s.id, s.hash, s.user_id AS "userId", u.role, s.absolute_expires_at AS "absoluteExpiresAt",
    s.last_seen_at > now() - ${FRESH} AS "fresh", (s.expires_at <= now() OR u.disabled_at IS NOT NULL) AS "ended"
  FROM sessions s JOIN users u ON u.id = s.user_id`;
const FIND_BY_HASH = statement<SessionRow>('sessions_by_hash', `${SELECT} WHERE s.hash = ANY($1::bytea[])`);
const FIND_BY_ID = statement<SessionRow>('sessions_by_id', `${SELECT} WHERE s.id = ANY($1::uuid[])`);

const TOUCH = touch(
  'session_touch',
  'sessions',
  `last_seen_at = now(), expires_at = LEAST(${IDLE_END}, absolute_expires_at)`,
  'last_seen_at < now() AND expires_at > now()',
);

const unknown = (accountId?: string): Invalid => ({
  outcome: 'invalid',
  kind: 'session',
  reason: 'The session is unknown, ended or expired.',
  accountId,
});

export interface SessionResolverOptions {
  readonly database: LookUpDatabase;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Resolves the session cookie. Nothing is cached: an ended session is refused from the next request on, on
 * every instance, for one indexed read per request.
 */
export function sessionResolver({ database, clock, log }: SessionResolverOptions): CredentialResolver {
  const noteUse = createLastUse({
    clock,
    log,
    what: 'a session',
    store: (id) => database.query(TOUCH, [[id]]),
  });

  const findByHash = lookUpByHash(database, FIND_BY_HASH);
  const findById = lookUpById(database, FIND_BY_ID);

  return {
    kind: 'session',
    async resolve({ place, value }) {
      if (place !== 'cookie') return { outcome: 'not-mine' };
      if (!isWellFormedSessionId(value)) return unknown();
      const row = await findByHash(hashSessionId(value));
      if (row === undefined || row.ended) return unknown(row?.userId);
      return { outcome: 'valid', used: () => noteUse(row.id, row.fresh), principal: principalOf(row) };
    },
    async renew({ credentialId }) {
      const row = credentialId === undefined ? undefined : await findById(credentialId);
      return row === undefined || row.ended ? undefined : principalOf(row);
    },
  };
}

function principalOf(row: SessionRow): Principal {
  return {
    kind: 'session',
    userId: row.userId,
    role: row.role,
    scopes: new Set(scopesOfRole(row.role)),
    clientId: userClientId(row.userId),
    credentialId: row.id,
    rateLimit: undefined,
    expiresAtMs: row.absoluteExpiresAt.getTime(),
  };
}
