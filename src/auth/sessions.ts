import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type Queryable, statement } from '../database/statement.ts';
import type { UnitOfWork } from '../database/unit-of-work.ts';
import type { Session, User } from '../generated/tables.ts';
import { newId } from '../platform/ids.ts';
import type { AccountWriteQueue } from './account-write-queue.ts';
import { type AuthStrategy, type CredentialCheck, UnverifiedSession } from './authenticate.ts';
import { type Caller, isSession, type Principal, SESSION, userClientId } from './principal.ts';
import { type CredentialRevocation, deleteRows } from './revocation.ts';
import { scopesOfRole } from './scopes.ts';
import { hashSecret, type SecretRow, type SecretServices, storedSecrets } from './secrets.ts';

/**
 * The idle timeout is 7 days, the absolute timeout 30 days, both by the database's clock (contract:
 * sessions).
 */
const SESSION_IDLE_EXPIRY_SQL = "now() + interval '7 days'";
const ABSOLUTE_EXPIRY_SQL = "now() + interval '30 days'";
const MAX_USER_AGENT_LENGTH = 200;

/** OWASP's session management cheat sheet requires at least 64 random bits. The id has 256. */
const ID_BYTES = 32;
/** An id of another form needs no look-up. */
const ID = /^[\w-]{43}$/;

interface NewSession {
  readonly userId: string;
  readonly passwordHash: string;
  readonly userAgent: string | null;
}

/**
 * A login whose password was changed after the check creates no session. The lock makes one of the two wait,
 * and a password change revokes all earlier sessions.
 */
const INSERT_SESSION = statement<{ expiresAt: Date }>(
  'session_insert',
  `INSERT INTO sessions (id, user_id, hash, user_agent, created_at, last_seen_at, expires_at, absolute_expires_at)
   SELECT $1, u.id, $3, $4, now(), now(), ${SESSION_IDLE_EXPIRY_SQL}, ${ABSOLUTE_EXPIRY_SQL} FROM users u
   WHERE u.id = $2 AND u.password_hash = $5 AND u.disabled_at IS NULL FOR SHARE OF u RETURNING absolute_expires_at AS "expiresAt"`,
);

const MAX_SESSIONS = 100;
/** As a separate statement, the deletion sees the sessions of concurrent logins. */
const DELETE_OLDEST_SESSIONS = statement<never>(
  'session_end_oldest',
  `DELETE FROM sessions WHERE id IN
     (SELECT id FROM sessions WHERE user_id = $1 ORDER BY last_seen_at DESC, id DESC OFFSET $2)`,
);

/**
 * `sessionId` is the value of the cookie, and the database stores only its hash. `expiresAt` is the latest
 * expiry.
 */
export interface OpenedSession {
  readonly id: string;
  readonly sessionId: string;
  readonly expiresAt: Date;
}

/**
 * Revokes the least recently used sessions beyond 100.
 * @returns undefined if the password was changed or the account was disabled after the check
 * @throws {DatabaseError}
 */
export async function openSession(
  db: Queryable,
  { userId, passwordHash, userAgent }: NewSession,
): Promise<OpenedSession | undefined> {
  const id = newId();
  const sessionId = randomBytes(ID_BYTES).toString('base64url');
  const [opened] = await db.query(INSERT_SESSION, [
    id,
    userId,
    hashSecret(sessionId),
    userAgent === null ? null : userAgent.slice(0, MAX_USER_AGENT_LENGTH),
    passwordHash,
  ]);
  await db.query(DELETE_OLDEST_SESSIONS, [userId, MAX_SESSIONS]);
  return opened && { id, sessionId, ...opened };
}

export interface HeldSession {
  readonly userAgent: string | null;
}

const LOCK_SESSION = statement<HeldSession>(
  'session_hold',
  'SELECT user_agent AS "userAgent" FROM sessions WHERE id = $1 FOR KEY SHARE',
);

/**
 * Locks a session against revocation until the transaction completes. A transaction that revokes the session
 * then finds the credentials issued with it. The lock follows the account's lock
 * (decisions/0014-lock-ordering.md).
 * @returns undefined if the session is revoked or expired
 * @throws {DatabaseError}
 */
export async function holdSession(
  work: UnitOfWork,
  id: string | undefined,
): Promise<HeldSession | undefined> {
  return id === undefined ? undefined : (await work.query(LOCK_SESSION, [id]))[0];
}

const DELETE_SESSION = statement<{ one: number }>(
  'session_end',
  'DELETE FROM sessions WHERE id = $1 AND user_id = $2 RETURNING 1 AS one',
);

/**
 * @returns false if the account has no such session
 * @throws {DatabaseError}
 */
export async function revokeSession(db: Queryable, id: string, userId: string): Promise<boolean> {
  return (await db.query(DELETE_SESSION, [id, userId])).length > 0;
}

/** Revokes the session of a caller that has one. */
export type EndSession = (caller: Caller | undefined) => Promise<void>;

export const sessionEnder =
  (accountWriteQueue: Pick<AccountWriteQueue, 'statements'>): EndSession =>
  async (caller) => {
    if (!isSession(caller)) return;
    const { credentialId = '', userId } = caller;
    await revokeSession(accountWriteQueue.statements(userId), credentialId, userId);
  };

export const sessionRevocation: CredentialRevocation = {
  kind: 'sessions',
  words: 'sessions',
  onPasswordChange: true,
  separately: { option: 'sessions', streamTokens: `t.credential_kind = '${SESSION}'` },
  ...deleteRows('sessions'),
};

interface SessionRow extends SecretRow, Pick<User, 'role'>, Pick<Session, 'absoluteExpiresAt'> {}

const MAX_CACHED_SESSIONS = 10_000;

interface Known {
  readonly row: SessionRow;
  readonly principal: Principal;
}

/**
 * Resolves the session cookie. Every instance rejects a revoked session from the next request on, because
 * each request asks the database. The cache only saves a separate statement for the check.
 */
export function createSessionStrategy(services: SecretServices): AuthStrategy {
  const sessions = storedSecrets<SessionRow>(services, {
    kind: SESSION,
    table: 'sessions',
    usedAt: 'last_seen_at',
    prolongedTo: `LEAST(${SESSION_IDLE_EXPIRY_SQL}, absolute_expires_at)`,
    joins: 'JOIN users u ON u.id = s.user_id',
    invalidSql: 's.expires_at <= now() OR u.disabled_at IS NOT NULL',
    columns: ['u.role, s.absolute_expires_at AS "absoluteExpiresAt"'],
    rejection: 'The session is unknown, revoked or expired. Log in again.',
  });

  const known = new LRUCache<string, Known>({ max: MAX_CACHED_SESSIONS });

  /** Apart from the role, a principal never changes. */
  const createCheck = (sessionId: string, { row }: Known): CredentialCheck => ({
    kind: SESSION,
    sql: (id = '', role = '') => sessions.freshIf(id, `u.role = ${role}`),
    values: [row.id, row.role],
    async lookUp() {
      const found = await sessions.find(sessionId, row.userId);
      return found === undefined || found.invalid || found.role !== row.role ? null : found.fresh;
    },
    onFound(fresh, used) {
      if (fresh === null) known.delete(sessionId);
      else if (used) sessions.recordUse({ ...row, fresh });
    },
  });

  return {
    kind: SESSION,
    async resolve({ place, value }, options) {
      if (place !== 'cookie') return { outcome: 'not-mine' };
      const cached = options?.allowUnverified ? known.get(value) : undefined;
      if (cached !== undefined) {
        const unverifiedSession = new UnverifiedSession(createCheck(value, cached));
        return {
          outcome: 'valid',
          principal: cached.principal,
          used: unverifiedSession.use,
          unverifiedSession,
        };
      }
      const row = ID.test(value) ? await sessions.find(value) : undefined;
      if (row === undefined || row.invalid) {
        known.delete(value);
        return sessions.rejected(row);
      }
      const principal = principalOf(row);
      known.set(value, { row, principal });
      return { outcome: 'valid', principal, used: () => sessions.recordUse(row) };
    },
    invalidCredentialSql: `NOT EXISTS (SELECT FROM sessions s WHERE s.id = t.credential_id::uuid AND s.expires_at > now())`,
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
