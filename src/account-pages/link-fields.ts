import { ACCOUNT_NAME, AccountError, emailKey, MAX_EMAIL_LENGTH } from '../auth/account/store.ts';
import type { DefineFields } from '../feature.ts';
import { type Context, principalOf, unitOfWorkOf } from '../graphql/context.ts';
import { ApiError, forbidden } from '../graphql/errors.ts';
import { checkText, lengthOf } from '../graphql/input.ts';
import { preparedOf } from '../graphql/preparation.ts';
import { confirmPassword } from '../modules/account/password.ts';
import { checkSession } from '../modules/account/service.ts';
import { statement } from '../platform/db/statement.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { invite, LinkError, recordedLink } from './links/issue.ts';
import type { IssuedLink } from './links/link-store.ts';
import { linkAddress } from './paths.ts';

const EMAIL = { min: 1, max: MAX_EMAIL_LENGTH };

interface AccountLink extends IssuedLink {
  /** The id of the account. */
  readonly user: string;
}

/** Locks the account before what is issued to it (decision 14). */
const FIND = statement<{ id: string; role: string }>(
  'account_link_target',
  'SELECT id, role FROM users WHERE email_key = $1 AND deleted_at IS NULL FOR NO KEY UPDATE',
);

/** What operators read on a terminal is bad input to a client. */
const inputError = (error: unknown): unknown =>
  error instanceof AccountError || error instanceof LinkError
    ? new ApiError('BAD_USER_INPUT', error.message)
    : error;

/** Throws what is wrong with the admin's password, and FORBIDDEN unless an admin asks. */
function asAdmin(context: Context, field: string): UnitOfWork {
  preparedOf(context, field);
  if (principalOf(context).role !== 'admin')
    throw forbidden('Only admins may create links for other accounts.');
  return unitOfWorkOf(context);
}

/** Links for admins to send. */
export const defineLinkFields: DefineFields = ({ builder }, { User }) => {
  const AccountLinkType = builder.objectRef<AccountLink>('AccountLink').implement({
    description: 'A link by which the owner of an account sets its password: good once, and for a day.',
    fields: (t) => ({
      url: t.string({
        secret: true,
        description:
          'The link to send to the owner. It is shown only once; only the hash of its token is stored. Whoever has it can set the password.',
        resolve: ({ token }, _args, { origin }) => linkAddress(origin(), token),
      }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When it ends, if it is not used.' }),
      user: t.field({ type: User, description: 'The account.', resolve: ({ user }) => user }),
    }),
  });

  builder.mutationFields((t) => ({
    inviteUser: t.field({
      session: true,
      type: AccountLinkType,
      prepare: ({ currentPassword }, context) => confirmPassword(context, String(currentPassword)),
      description:
        'Creates an account without a password, and a link by which its owner sets one. Only for admins, in a session; otherwise FORBIDDEN. An operation can select it only once.',
      args: {
        email: t.arg.string({
          required: true,
          description: `The e-mail of the new account, at most ${MAX_EMAIL_LENGTH} characters. BAD_USER_INPUT if an account has it.`,
        }),
        name: t.arg.string({
          required: true,
          description: `The name that others see, ${lengthOf(ACCOUNT_NAME)}.`,
        }),
        currentPassword: t.arg.string({ required: true, description: 'The admin’s own password.' }),
      },
      resolve: async (_root, { email, name }, context) => {
        checkText('email', email, EMAIL);
        checkText('name', name, ACCOUNT_NAME);
        const work = asAdmin(context, 'inviteUser');
        try {
          const { id, link } = await invite(work, 'inviteUser', { email, name });
          await checkSession(work, principalOf(context));
          return { ...link, user: id };
        } catch (error) {
          throw inputError(error);
        }
      },
    }),
    createResetLink: t.field({
      session: true,
      type: AccountLinkType,
      prepare: ({ currentPassword }, context) => confirmPassword(context, String(currentPassword)),
      description:
        'Creates a link by which the owner of an account sets a new password, and ends earlier links. Only for admins, in a session, and never for another admin; otherwise FORBIDDEN. NOT_FOUND if there is no such account. An operation can select it only once.',
      args: {
        email: t.arg.string({ required: true, description: 'The e-mail of the account.' }),
        currentPassword: t.arg.string({ required: true, description: 'The admin’s own password.' }),
      },
      resolve: async (_root, { email }, context) => {
        checkText('email', email, EMAIL);
        const work = asAdmin(context, 'createResetLink');
        const principal = principalOf(context);
        const [found] = await work.query(FIND, [emailKey(email)]);
        if (found === undefined) throw new ApiError('NOT_FOUND', 'There is no account with this e-mail.');
        if (found.role === 'admin' && found.id !== principal.userId)
          throw forbidden('An admin creates no link for another admin.');
        await checkSession(work, principal);
        try {
          return { ...(await recordedLink(work, 'createResetLink', found.id, 'reset')), user: found.id };
        } catch (error) {
          throw inputError(error);
        }
      },
    }),
  }));
};
