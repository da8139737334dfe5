import { Prisma, type PrismaClient } from '../../generated/prisma/client.ts';
import { newId } from '../../platform/uuid.ts';
import { hashPassword } from '../password.ts';
import type { Role } from '../scopes.ts';
import { ACCOUNT_NAME, MAX_EMAIL_LENGTH, PASSWORD } from './limits.ts';

/** An account that cannot be created or found as requested. The message is meant for the requester. */
export class AccountError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AccountError';
  }
}

export interface NewAccount {
  readonly name: string;
  readonly email: string;
  /** An account without a password signs in by API key only. */
  readonly password?: string | undefined;
  readonly role?: Role | undefined;
}

/** The form in which e-mails are compared, ignoring case. */
export const emailKey = (email: string): string => email.toLowerCase();

const length = (text: string) => [...text].length;
const fits = (text: string, { min, max }: typeof PASSWORD) => length(text) >= min && length(text) <= max;

function check({ name, email, password }: NewAccount): void {
  const broken = [name, email, password ?? ''].some((text) => text.includes('\0') || !text.isWellFormed());
  if (broken)
    throw new AccountError('Name, e-mail and password must not contain a NUL character or a lone surrogate.');
  if (!fits(name, ACCOUNT_NAME)) throw new AccountError('The name must be 1 to 100 characters long.');
  if (!/^[^\s@]+@[^\s@]+$/.test(email) || length(email) > MAX_EMAIL_LENGTH)
    throw new AccountError(`"${email}" is not an e-mail address.`);
  if (password !== undefined && !fits(password, PASSWORD))
    throw new AccountError('The password must be 12 to 200 characters long.');
}

/** Creates an account. Throws AccountError if a rule is broken or the e-mail is taken. */
export async function createAccount(prisma: PrismaClient, account: NewAccount): Promise<{ id: string }> {
  check(account);
  const { name, email, password, role = 'member' } = account;
  const key = emailKey(email);
  const taken = () => new AccountError(`An account with the e-mail "${email}" already exists.`);
  if ((await prisma.user.findUnique({ where: { emailKey: key }, select: { id: true } })) !== null)
    throw taken();
  const passwordHash = password === undefined ? null : await hashPassword(password);
  try {
    return await prisma.user.create({
      data: { id: newId(), name, email, emailKey: key, role, passwordHash },
      select: { id: true },
    });
  } catch (error) {
    // A concurrent request took the e-mail.
    if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002') throw taken();
    throw error;
  }
}

/** The account with an e-mail. Throws AccountError if there is none. */
export async function findAccount(
  prisma: PrismaClient,
  email: string,
): Promise<{ id: string; role: Role; disabledAt: Date | null }> {
  const account = await prisma.user.findUnique({
    where: { emailKey: emailKey(email) },
    select: { id: true, role: true, disabledAt: true },
  });
  if (account === null) throw new AccountError(`There is no account with the e-mail "${email}".`);
  return account;
}

/** Ends every credential of an account. */
export async function disableAccount(prisma: PrismaClient, id: string, at: Date): Promise<void> {
  await prisma.user.update({ where: { id }, data: { disabledAt: at }, select: { id: true } });
}
