import { violatedForeignKey } from '../database/errors.ts';
import { type Queryable, statement } from '../database/statement.ts';
import { OperatorError } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { hashPassword } from './passwords.ts';
import type { Role } from './scopes.ts';

let known: Promise<ReadonlySet<string>> | undefined;

/** The list is loaded with the first password that is set, because a server may run for days without one. */
async function load(min: number): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  return new Set(dictionary['passwords-common'].filter(({ length }) => length >= min));
}

/**
 * Compares a password with a list of common and stolen ones (NIST SP 800-63B §3.1.1.2). The comparison
 * ignores case and uses the entries that have at least `min` characters.
 */
export async function isCommon(password: string, min: number): Promise<boolean> {
  known ??= load(min).catch((error: unknown) => {
    known = undefined;
    throw error;
  });
  return (await known).has(password.toLowerCase());
}

/** Lengths are in Unicode code points. */
export const ACCOUNT_NAME = { min: 1, max: 100 };
export const PASSWORD = { min: 12, max: 200 };
export const MAX_EMAIL_LENGTH = 254;

/** The message is shown to the requester. */
export class AccountError extends OperatorError {}

export interface NewAccount {
  readonly name: string;
  readonly email: string;
  /** An account without a password signs in by API key only. */
  readonly password?: string | undefined;
  readonly role?: Role | undefined;
}

/** Comparisons of email addresses ignore case. */
export const emailKey = (email: string): string => email.toLowerCase();

const length = (text: string) => [...text].length;
const fits = (text: string, { min, max }: typeof PASSWORD) => length(text) >= min && length(text) <= max;

/** PostgreSQL cannot store such a string, so no account has it. */
export const hasInvalidUnicode = (text: string): boolean => text.includes('\0') || !text.isWellFormed();

export const MAX_IDENTIFIER_LENGTH = 255;

/** True for a claim that can be stored and looked up. OpenID Connect Core §2 limits `sub` to this length. */
export const isIdentifier = (text: string): boolean =>
  text.length > 0 && text.length <= MAX_IDENTIFIER_LENGTH && !hasInvalidUnicode(text);

export const COMMON_PASSWORD = 'a commonly used password. Choose another one.';

/**
 * Checks a new password. Stored passwords that would fail the check stay valid.
 * @throws {AccountError}
 */
export async function checkPassword(password: string): Promise<void> {
  if (hasInvalidUnicode(password))
    throw new AccountError('The password must not contain a NUL character or a lone surrogate.');
  if (!fits(password, PASSWORD)) throw new AccountError('The password must be 12 to 200 characters long.');
  if (await isCommon(password, PASSWORD.min)) throw new AccountError(`The password is ${COMMON_PASSWORD}`);
}

async function check({ name, email, password }: NewAccount): Promise<void> {
  const isInvalid = [name, email, password ?? ''].some(hasInvalidUnicode);
  if (isInvalid)
    throw new AccountError('Name, e-mail and password must not contain a NUL character or a lone surrogate.');
  if (!fits(name, ACCOUNT_NAME)) throw new AccountError('The name must be 1 to 100 characters long.');
  if (!/^[^\s@]+@[^\s@]+$/.test(email) || length(email) > MAX_EMAIL_LENGTH)
    throw new AccountError(`"${email}" is not an e-mail address.`);
  if (password !== undefined) await checkPassword(password);
}

const FIND = statement<{ id: string; role: Role; disabledAt: Date | null; deletedAt: Date | null }>(
  'account_find',
  `SELECT id, role, disabled_at AS "disabledAt", deleted_at AS "deletedAt" FROM users WHERE email_key = $1`,
);
const INSERT = statement<{ id: string }>(
  'account_insert',
  `INSERT INTO users (id, name, email, email_key, role, password_hash) VALUES ($1, $2, $3, $4, $5::"Role", $6)
   ON CONFLICT (email_key) DO NOTHING RETURNING id`,
);

const isTaken = (email: string) => new AccountError(`An account with the e-mail "${email}" already exists.`);

export interface ReadyAccount extends Omit<NewAccount, 'password'> {
  readonly passwordHash: string | null;
}

/**
 * @throws {AccountError} if a rule is broken or the email address is taken
 * @throws {DatabaseError}
 */
export async function readyAccount(
  db: Queryable,
  { password, ...account }: NewAccount,
): Promise<ReadyAccount> {
  await check({ ...account, password });
  if ((await db.query(FIND, [emailKey(account.email)])).length > 0) throw isTaken(account.email);
  return { ...account, passwordHash: password === undefined ? null : await hashPassword(password) };
}

/**
 * @throws {AccountError} if the email address has been taken
 * @throws {DatabaseError}
 */
export async function insertAccount(
  db: Queryable,
  { name, email, role = 'member', passwordHash }: ReadyAccount,
): Promise<{ id: string }> {
  const [made] = await db.query(INSERT, [newId(), name, email, emailKey(email), role, passwordHash]);
  if (made === undefined) throw isTaken(email);
  return made;
}

/**
 * @throws {AccountError} if a rule is broken or the email address is taken
 * @throws {DatabaseError}
 */
export async function createAccount(db: Queryable, account: NewAccount): Promise<{ id: string }> {
  return insertAccount(db, await readyAccount(db, account));
}

export const noAccount = (email: string): AccountError =>
  new AccountError(`Account "${email}" does not exist. Run "user list" to see all accounts.`);

export const beingDeleted = (email: string): AccountError =>
  new AccountError(`Account "${email}" is partly deleted. Run "user delete" again to finish.`);

/**
 * @throws {AccountError} if no account has the email address, or if its deletion has begun
 * @throws {DatabaseError}
 */
export async function findAccount(
  db: Queryable,
  email: string,
): Promise<{ id: string; role: Role; disabledAt: Date | null }> {
  if (hasInvalidUnicode(email)) throw noAccount(email);
  const [account] = await db.query(FIND, [emailKey(email)]);
  if (account === undefined) throw noAccount(email);
  const { deletedAt, ...found } = account;
  if (deletedAt !== null) throw beingDeleted(email);
  return found;
}

/**
 * The lock makes a limit per account exact: a concurrent transaction that adds a row waits and then counts
 * the new rows.
 */
export const LOCK_ACCOUNT = statement<{ id: string }>(
  'account_lock',
  'SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE',
);

const REFERENCE_TO_ACCOUNT = /_(author|user|owner)_id_fkey$/;

/**
 * True if the account was deleted while the write ran. An account is only deleted once nothing refers to it,
 * so the failed reference is the new one.
 */
export function isAccountGone(error: unknown): boolean {
  const violated = violatedForeignKey(error);
  return violated !== undefined && REFERENCE_TO_ACCOUNT.test(violated);
}
