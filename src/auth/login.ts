import { hash } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { type Queryable, statement } from '../database/statement.ts';
import type { User } from '../generated/tables.ts';
import type { FairQueue } from '../platform/fairness/fair-queue.ts';
import { formatIpOwner } from '../platform/ip-address.ts';
import type { AccountWriteQueue } from './account-write-queue.ts';
import { emailKey, hasInvalidUnicode } from './accounts.ts';
import { hashPassword, isOutdated, unmatchableHash, verifyPassword } from './passwords.ts';
import type { Principal } from './principal.ts';
import { readConnectionFor } from './secrets.ts';
import type { AttemptOrigin, LoginFailure, SecurityLog } from './security-log.ts';
import { type OpenedSession, openSession } from './sessions.ts';

export type FailureNames = readonly [name: string, other?: string];

export interface FailureCounter {
  /**
   * Counts a failure under each name, if any.
   * @throws if there were too many under a name
   */
  failure(...names: FailureNames): Promise<void>;
  /** Subtracts an attempt that did not fail. */
  forgive(...names: FailureNames): Promise<void>;
}

/** Only clients with a session of the account can cause these failures. */
export const confirmationFailures = (accountId: string): string => `confirmation:${accountId}`;

/** The name does not reveal the email address, and the account may not exist. */
function accountFailures(email: string): string {
  return `account:${hash('sha256', emailKey(email), 'base64url')}`;
}

/**
 * Each hash takes tens of milliseconds and 19 MiB, so hashing is queued. The queue charges `owner`: an
 * account or, before a login, an IP address.
 */
export function createPasswords(queue: FairQueue, failures: FailureCounter) {
  const dummy = unmatchableHash();

  return {
    hash: (owner: string, password: string): Promise<string> =>
      queue.measured(owner, () => hashPassword(password)),
    /** Without a hash, the function does the same work and returns false. */
    matches: async (owner: string, password: string, hash: string | null): Promise<boolean> =>
      (await queue.measured(owner, () => verifyPassword(password, hash ?? dummy))) && hash !== null,
    /**
     * The attempt counts as a failure before the check, so that concurrent attempts cannot exceed the limit.
     * A success subtracts the failure.
     * @throws what the counter and the queue throw
     */
    async attempt<T>(names: FailureNames, check: () => Promise<T | undefined>): Promise<T | undefined> {
      await failures.failure(...names);
      let failed = false;
      try {
        const result = await check();
        failed = result === undefined;
        return result;
      } finally {
        // A check that throws tells an attacker nothing, so the attempt is no failure.
        if (!failed) await failures.forgive(...names);
      }
    },
  };
}

export type Passwords = ReturnType<typeof createPasswords>;

interface LoginAttempt {
  readonly email: string;
  readonly password: string;
  /** Failures also count for the client's IP address. */
  readonly origin: AttemptOrigin;
  readonly userAgent: string | null;
}

export interface LoggedIn extends OpenedSession {
  readonly user: { readonly id: string; readonly name: string; readonly email: string };
}

/**
 * Resolves to undefined if the account does not exist or is disabled, or the password is wrong. The client
 * never learns which.
 */
export type Login = (attempt: LoginAttempt) => Promise<LoggedIn | undefined>;

interface AccountRow extends Pick<User, 'id' | 'name' | 'email' | 'passwordHash'> {
  readonly disabled: boolean;
}

const FIND_ACCOUNT = statement<AccountRow>(
  'account_by_email',
  `SELECT id, name, email, password_hash AS "passwordHash", disabled_at IS NOT NULL AS "disabled"
   FROM users WHERE email_key = $1`,
);

/** The password is unchanged, so the update revokes nothing. */
const RENEW_HASH = statement<{ one: number }>(
  'account_renew_hash',
  'UPDATE users SET password_hash = $3 WHERE id = $1 AND password_hash = $2 RETURNING 1 AS one',
);

interface LoginOptions {
  readonly database: Pick<Database, 'cancellable'>;
  readonly accountWriteQueue: AccountWriteQueue;
  readonly passwords: Passwords;
  readonly securityLog: SecurityLog;
}

function failureOf(account: AccountRow | undefined, matches: boolean): LoginFailure | undefined {
  if (account === undefined) return 'unknown_account';
  if (account.passwordHash === null) return 'no_password';
  if (account.disabled) return 'account_disabled';
  return matches ? undefined : 'wrong_password';
}

/**
 * All failures take the same work.
 * @throws {DatabaseError} and what an attempt throws
 */
export function createLogin({ database, accountWriteQueue, passwords, securityLog }: LoginOptions): Login {
  /**
   * Rehashes a password with the current parameters. Only a login knows the password.
   * @returns undefined if the stored hash has changed
   */
  async function renew(
    { origin, password }: LoginAttempt,
    id: string,
    hash: string,
  ): Promise<string | undefined> {
    const renewed = await passwords.hash(formatIpOwner(origin.clientAddress), password);
    const rows = await accountWriteQueue.statements(id).query(RENEW_HASH, [id, hash, renewed]);
    return rows.length > 0 ? renewed : undefined;
  }

  async function signIn(attempt: LoginAttempt): Promise<LoggedIn | undefined> {
    const { email, password, origin, userAgent } = attempt;
    const owner = formatIpOwner(origin.clientAddress);
    const key = emailKey(email);
    const [account] = hasInvalidUnicode(key)
      ? []
      : await readConnectionFor(database, owner).query(FIND_ACCOUNT, [key]);
    const passwordHash = account?.passwordHash ?? null;
    const matches = await passwords.matches(owner, password, passwordHash);
    const failure = failureOf(account, matches);
    if (failure !== undefined || account === undefined || passwordHash === null) {
      securityLog.failedLogin(origin, failure ?? 'unknown_account', account?.id);
      return undefined;
    }
    const { id, name } = account;
    const current = isOutdated(passwordHash) ? await renew(attempt, id, passwordHash) : passwordHash;
    // A concurrent login has rehashed the password, or the password was changed. The attempt is repeated with
    // the stored hash.
    if (current === undefined) return signIn(attempt);
    const session = await openSession(accountWriteQueue.statements(id), {
      userId: id,
      passwordHash: current,
      userAgent,
    });
    if (session === undefined) {
      securityLog.failedLogin(origin, 'changed_during_login', id);
      return undefined;
    }
    securityLog.loggedIn(origin, id);
    return { ...session, user: { id, name, email: account.email } };
  }

  return async (attempt) => {
    const names = [formatIpOwner(attempt.origin.clientAddress), accountFailures(attempt.email)] as const;
    return passwords.attempt(names, () => signIn(attempt));
  };
}

const FIND_OWNER = statement<{ name: string; email: string; expiresAt: Date }>(
  'session_owner',
  `SELECT u.name, u.email, s.absolute_expires_at AS "expiresAt" FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = $1`,
);

/**
 * @returns undefined if the session is revoked or expired
 * @throws {DatabaseError}
 */
export async function ownerOf(
  db: Queryable,
  { userId, credentialId }: Pick<Principal, 'userId' | 'credentialId'>,
): Promise<Pick<LoggedIn, 'user' | 'expiresAt'> | undefined> {
  if (credentialId === undefined) return undefined;
  const [row] = await db.query(FIND_OWNER, [credentialId]);
  return row && { user: { id: userId, name: row.name, email: row.email }, expiresAt: row.expiresAt };
}
