import { audit } from '../../audit/audit.ts';
import { type Endings, end } from '../../auth/account/endings.ts';
import { COMMON_PASSWORD, isCommon, PASSWORD } from '../../auth/account/store.ts';
import { confirmationFailures } from '../../auth/password-check.ts';
import { isSession, type Principal } from '../../auth/principal.ts';
import { type OpenedSession, openSession } from '../../auth/session/store.ts';
import { badInput, unauthenticated } from '../../graphql/errors.ts';
import { checkText } from '../../graphql/input.ts';
import type { PreparationContext } from '../../graphql/preparation.ts';
import { statement } from '../../platform/db/statement.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { checkSession } from './service.ts';

const FIND_HASH = statement<{ hash: string | null }>(
  'account_password_hash',
  'SELECT password_hash AS "hash" FROM users WHERE id = $1',
);
/** Of two concurrent changes, the later one finds that its current password is no longer current. */
const CHANGE_HASH = statement<{ id: string }>(
  'account_change_password',
  'UPDATE users SET password_hash = $3 WHERE id = $1 AND password_hash = $2 RETURNING id',
);

/** A password that has been checked, and its successor. */
export interface PasswordChange {
  readonly currentHash: string;
  readonly newHash: string;
}

const wrong = () => badInput('currentPassword', 'is not the current password.');

/**
 * Checks the password of a caller with a session, in tens of milliseconds in which nothing may be locked, and goes on with
 * its hash. Undefined without a session, which the field refuses. A wrong one is BAD_USER_INPUT, because the caller has the
 * permission but the argument is wrong. It counts in a bucket of its own, so that failed logins of others do not block
 * the owner; too many are RATE_LIMITED.
 */
async function checked<T>(
  { caller, db, passwords, onWrongPassword }: PreparationContext,
  currentPassword: string,
  then: (userId: string, currentHash: string) => Promise<T>,
): Promise<T | undefined> {
  if (!isSession(caller)) return undefined;
  const { userId } = caller;
  const [account] = await db.query(FIND_HASH, [userId]);
  if (account === undefined) throw unauthenticated('The account has been deleted.');
  const { hash } = account;
  const result = await passwords.attempt([confirmationFailures(userId)], async () =>
    (await passwords.matches(userId, currentPassword, hash)) && hash !== null
      ? then(userId, hash)
      : undefined,
  );
  if (result !== undefined) return result;
  onWrongPassword();
  throw wrong();
}

/**
 * Confirms that the caller, who has a session, knows the password. Throws as `checked` does, and BAD_USER_INPUT without a
 * password: the argument is nullable where it was added to a published field.
 */
export async function confirmPassword(context: PreparationContext, currentPassword: unknown): Promise<void> {
  if (!isSession(context.caller)) return;
  if (typeof currentPassword !== 'string') throw badInput('currentPassword', 'must be given.');
  await checked(context, currentPassword, async () => true);
}

/** Checks the current password and hashes the new one. Throws as `checked` does. */
export async function preparePassword(
  context: PreparationContext,
  currentPassword: string,
  newPassword: string,
): Promise<PasswordChange | undefined> {
  if (isSession(context.caller)) {
    checkText('newPassword', newPassword, PASSWORD);
    if (await isCommon(newPassword, PASSWORD.min)) throw badInput('newPassword', `is ${COMMON_PASSWORD}.`);
  }
  return checked(context, currentPassword, async (userId, currentHash) => ({
    currentHash,
    newHash: await context.passwords.hash(userId, newPassword),
  }));
}

/**
 * Changes the password, ends what was signed in to with the one before, the caller's session too, and opens a session in
 * its place: whoever has copied its cookie is out. Throws BAD_USER_INPUT if the password was changed meanwhile,
 * UNAUTHENTICATED if the session was ended or the account disabled.
 */
export async function changePassword(
  work: UnitOfWork,
  principal: Principal,
  { currentHash, newHash }: PasswordChange,
  signedIn: Endings,
): Promise<OpenedSession> {
  const { userId } = principal;
  const changed = await work.query(CHANGE_HASH, [userId, currentHash, newHash]);
  if (changed.length === 0) throw wrong();
  const { userAgent } = await checkSession(work, principal);
  const ended = await end(work, [userId], signedIn);
  await audit(work, 'changePassword', userId, { account: userId, ended });
  const opened = await openSession(work, { userId, passwordHash: newHash, userAgent });
  if (opened === undefined) throw unauthenticated('The account has been disabled.');
  return opened;
}
