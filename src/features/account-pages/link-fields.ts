import { ACCOUNT_NAME, AccountError, emailKey, MAX_EMAIL_LENGTH } from '../../auth/accounts.ts';
import { statement } from '../../database/statement.ts';
import type { UnitOfWork } from '../../database/unit-of-work.ts';
import { preparedOf } from '../../engine/core/before-transaction.ts';
import { type Context, principalOf, unitOfWorkOf } from '../../engine/core/context.ts';
import { checkText, lengthOf } from '../../engine/core/input.ts';
import { ApiError, forbidden } from '../../platform/errors.ts';
import { checkSession, confirmPassword, ownAccount } from '../../schema/account/service.ts';
import type { DefineFields } from '../feature.ts';
import { type IssuedLink, invite, LinkError, recordedLink } from './links.ts';
import { linkAddress } from './paths.ts';

const EMAIL = { min: 1, max: MAX_EMAIL_LENGTH };

interface AccountLink extends IssuedLink {
  readonly user: string;
}

const notAdmin = () => forbidden('Only admins can create links for other accounts.');

interface Target {
  readonly id: string;
  readonly role: string;
}

const FIND = statement<Target>(
  'account_link_target',
  'SELECT id, role FROM users WHERE email_key = $1 AND deleted_at IS NULL',
);
const LOCK = statement<Target>(
  'account_link_lock',
  'SELECT id, role FROM users WHERE id = $1 AND email_key = $2 AND deleted_at IS NULL FOR NO KEY UPDATE',
);
/** The role may have changed, and the account may have been disabled, since the request was authenticated. */
const LOCK_ADMIN = statement<{ id: string }>(
  'account_link_admin',
  `SELECT id FROM users WHERE id = $1 AND role = 'admin' AND disabled_at IS NULL FOR NO KEY UPDATE`,
);

/** Messages for operators on a terminal are bad input for a client. */
function throwInputError(error: unknown): never {
  if (error instanceof AccountError || error instanceof LinkError)
    throw new ApiError('BAD_USER_INPUT', error.message);
  throw error;
}

/**
 * Opens the unit of work of an admin who has entered their password, with their account locked and checked.
 * The lock precedes other locks (decisions/0014-lock-ordering.md), and an operation locks at most one
 * further account.
 * @throws FORBIDDEN, UNAUTHENTICATED, or an error about the password
 */
async function adminWork(context: Context, field: string): Promise<UnitOfWork> {
  preparedOf(context, field);
  const principal = principalOf(context);
  if (principal.role !== 'admin') throw notAdmin();
  const work = unitOfWorkOf(context);
  if ((await work.query(LOCK_ADMIN, [principal.userId])).length === 0) throw notAdmin();
  await checkSession(work, principal);
  return work;
}

/**
 * Locks an account by its email address.
 * @throws NOT_FOUND, or FORBIDDEN for another admin
 */
async function lockTarget(work: UnitOfWork, email: string, own: string): Promise<string> {
  const key = emailKey(email);
  const [found] = await work.query(FIND, [key]);
  const judge = (target: Target | undefined): string => {
    if (target === undefined)
      throw new ApiError('NOT_FOUND', 'No account has this email address. Check the address.');
    if (target.role === 'admin' && target.id !== own)
      throw forbidden('An admin cannot create a link for another admin.');
    return target.id;
  };
  const id = judge(found);
  return judge((await work.query(LOCK, [id, key]))[0]);
}

/** Admins send these links to account owners. */
export const defineLinkFields: DefineFields = ({ builder }, { User }) => {
  const AccountLinkType = builder.objectRef<AccountLink>('AccountLink').implement({
    description: 'A link with which the owner of an account sets the password, once and within a day.',
    fields: (t) => ({
      url: t.string({
        secret: true,
        description:
          'The link to send to the owner, shown only once. A person who has the link can set the password.',
        resolve: ({ token }, _args, { origin }) => linkAddress(origin(), token),
      }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When the link expires.' }),
      user: t.field({ type: User, description: 'The account.', resolve: ({ user }) => user }),
    }),
  });

  builder.mutationFields((t) => ({
    inviteUser: t.field({
      session: true,
      locks: ownAccount,
      type: AccountLinkType,
      prepare: ({ currentPassword }, context) => confirmPassword(context, currentPassword),
      description:
        'Creates an account without a password, and a link with which its owner sets the password. Only for admins in a session; otherwise FORBIDDEN. Select it once in an operation.',
      args: {
        email: t.arg.string({
          required: true,
          description: `The email address of the new account, at most ${MAX_EMAIL_LENGTH} characters. BAD_USER_INPUT if an account has it.`,
        }),
        name: t.arg.string({
          required: true,
          description: `The name that other users see, ${lengthOf(ACCOUNT_NAME)}.`,
        }),
        currentPassword: t.arg.string({ required: true, description: 'The admin’s password.' }),
      },
      resolve: async (_root, { email, name }, context) => {
        checkText('email', email, EMAIL);
        checkText('name', name, ACCOUNT_NAME);
        const work = await adminWork(context, 'inviteUser');
        const { id, link } = await invite(work, 'inviteUser', { email, name }).catch(throwInputError);
        return { ...link, user: id };
      },
    }),
    createResetLink: t.field({
      session: true,
      locks: ownAccount,
      type: AccountLinkType,
      prepare: ({ currentPassword }, context) => confirmPassword(context, currentPassword),
      description:
        'Creates a link with which the owner of an account sets a new password, and revokes earlier links. Only for admins in a session, and never for another admin; otherwise FORBIDDEN. NOT_FOUND if the account does not exist. Select it once in an operation.',
      args: {
        email: t.arg.string({ required: true, description: 'The email address of the account.' }),
        currentPassword: t.arg.string({ required: true, description: 'The admin’s password.' }),
      },
      resolve: async (_root, { email }, context) => {
        checkText('email', email, EMAIL);
        const work = await adminWork(context, 'createResetLink');
        const id = await lockTarget(work, email, principalOf(context).userId);
        const link = await recordedLink(work, 'createResetLink', id, 'reset').catch(throwInputError);
        return { ...link, user: id };
      },
    }),
  }));
};
