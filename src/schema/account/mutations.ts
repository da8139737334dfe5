import { ACCOUNT_NAME, PASSWORD } from '../../auth/accounts.ts';
import { MAX_LIVE_KEYS, type StoredApiKey } from '../../auth/api-keys.ts';
import { isSession } from '../../auth/principal.ts';
import { type Revocations, revokeInBatches } from '../../auth/revocation.ts';
import { SCOPES, type Scope, scopesOfRole } from '../../auth/scopes.ts';
import type { SchemaToolkit } from '../../engine/builder/schema-toolkit.ts';
import { preparedOf } from '../../engine/core/before-transaction.ts';
import { passwordChanged, principalOf, unitOfWorkOf } from '../../engine/core/context.ts';
import { lengthOf, parseId } from '../../engine/core/input.ts';
import type { ContentLimits } from '../content-limits.ts';
import { describeHandle } from '../user/profile.ts';
import type { UserTypes } from '../user/type.ts';
import {
  changePassword,
  confirmPassword,
  endApiKey,
  endSession,
  makeApiKey,
  ownAccount,
  type PasswordChange,
  preparePassword,
  removeIdentity,
  revokeEverything,
  updateProfile,
} from './service.ts';
import type { AccountTypes } from './type.ts';

const members = scopesOfRole('member');
const named = (scopes: readonly Scope[]) => scopes.map((scope) => `\`${scope}\``).join(', ');
const SCOPE_NAMES = `${named(members)} and, for admins, ${named(SCOPES.filter((scope) => !members.includes(scope)))}`;

export interface AccountRevocations {
  readonly all: Revocations;
  readonly onPasswordChange: Revocations;
}

export function defineAccountMutations(
  { builder }: SchemaToolkit,
  { User }: UserTypes,
  { ApiKey }: AccountTypes,
  { account: limits, profile }: ContentLimits,
  revocations: AccountRevocations,
): void {
  const CreatedApiKey = builder
    .objectRef<{ readonly key: string; readonly apiKey: StoredApiKey }>('CreatedApiKey')
    .implement({
      description: 'A newly created API key.',
      fields: (t) => ({
        key: t.exposeString('key', {
          secret: true,
          description: 'The key itself. It is shown only once; only its hash is stored.',
        }),
        apiKey: t.expose('apiKey', { type: ApiKey, description: 'The key’s stored record.' }),
      }),
    });

  builder.mutationFields((t) => ({
    updateViewer: t.field({
      session: true,
      locks: ownAccount,
      type: User,
      description:
        'Changes the given fields of the viewer’s account. Absent and null fields keep their value. Needs a session; otherwise FORBIDDEN.',
      args: {
        name: t.arg.string({
          description: `The name shown next to the user’s posts and comments, ${lengthOf(ACCOUNT_NAME)}.`,
        }),
        handle: t.arg.string({
          description: `The name for URLs, ${describeHandle(profile.handle)}. BAD_USER_INPUT if another account has it. Empty removes it.`,
        }),
        bio: t.arg.string({
          description: `What the user writes about themselves, ${lengthOf(profile.bio)}.`,
        }),
        avatarUrl: t.arg.string({
          description: `The https URL of the user’s picture, at most ${profile.avatarUrl.max} characters. An empty string removes it.`,
        }),
      },
      resolve: (_root, changes, context) =>
        updateProfile(unitOfWorkOf(context), principalOf(context), changes, profile),
    }),
    createApiKey: t.field({
      session: true,
      locks: ownAccount,
      type: CreatedApiKey,
      prepare: ({ currentPassword }, context) => confirmPassword(context, currentPassword),
      description: `Creates an API key for the viewer’s account. An account can have at most ${MAX_LIVE_KEYS} keys that are neither revoked nor expired; another one is BAD_USER_INPUT. A wrong password is BAD_USER_INPUT, too many are RATE_LIMITED. Select it once in an operation. Needs a session; otherwise FORBIDDEN.`,
      args: {
        name: t.arg.string({
          required: true,
          description: `What the key is for, ${lengthOf(limits.keyName)}.`,
        }),
        scopes: t.arg.stringList({
          required: true,
          description: `The key’s scopes: ${SCOPE_NAMES}. FORBIDDEN if the account does not have one of them.`,
        }),
        expiresAt: t.arg({
          type: 'DateTime',
          description: 'When the key expires. If absent, it is valid until revoked.',
        }),
        currentPassword: t.arg.string({
          description:
            'The current password. BAD_USER_INPUT if absent, because a key stays valid after the session and after a change of the password.',
        }),
      },
      resolve: (_root, args, context) => {
        preparedOf(context, 'createApiKey');
        return makeApiKey(unitOfWorkOf(context), principalOf(context), args, limits);
      },
    }),
    revokeApiKey: t.boolean({
      session: true,
      locks: ownAccount,
      description:
        'Revokes an API key of the viewer’s account permanently. True if the key existed, false if it did not. Needs a session; otherwise FORBIDDEN.',
      args: { id: t.arg.id({ required: true, description: 'The id of the key, not the key itself.' }) },
      resolve: (_root, { id }, context) =>
        endApiKey(unitOfWorkOf(context), principalOf(context), parseId(id)),
    }),
    revokeSession: t.boolean({
      session: true,
      locks: ownAccount,
      description:
        'Revokes a session of the viewer’s account, which may be the session of this request. True if the session existed, false if it did not. Needs a session; otherwise FORBIDDEN.',
      args: { id: t.arg.id({ required: true, description: 'The id of the session.' }) },
      resolve: (_root, { id }, context) =>
        endSession(unitOfWorkOf(context), principalOf(context), parseId(id)),
    }),
    unlinkIdentity: t.boolean({
      session: true,
      locks: ownAccount,
      description:
        'Unlinks a subject of an external issuer from the viewer’s account, and revokes the JWTs that were issued to the account until now. Only an operator can link the subject again. True if the identity existed, false if it did not. Needs a session; otherwise FORBIDDEN.',
      args: { id: t.arg.id({ required: true, description: 'The id of the identity.' }) },
      resolve: (_root, { id }, context) =>
        removeIdentity(unitOfWorkOf(context), principalOf(context), parseId(id)),
    }),
    changePassword: t.boolean({
      session: true,
      locks: ownAccount,
      prepare: ({ currentPassword, newPassword }, context) =>
        preparePassword(context, String(currentPassword), String(newPassword)),
      description:
        'Changes the password of the viewer’s account, and revokes its other sessions, stream tokens and OAuth grants, but no API keys. The session of this request continues with a new id, in the cookie of the response. Always true. A wrong password is BAD_USER_INPUT, too many are RATE_LIMITED. Select it once in an operation. Needs a session; otherwise FORBIDDEN.',
      args: {
        currentPassword: t.arg.string({ required: true, description: 'The current password.' }),
        newPassword: t.arg.string({ required: true, description: `${lengthOf(PASSWORD)}.` }),
      },
      resolve: async (_root, _args, context) => {
        const change = preparedOf(context, 'changePassword') as PasswordChange;
        const work = unitOfWorkOf(context);
        passwordChanged(
          context,
          await changePassword(work, principalOf(context), change, revocations.onPasswordChange),
        );
        return true;
      },
    }),
    revokeEverything: t.boolean({
      session: true,
      locks: ownAccount,
      prepare: async ({ currentPassword }, context) => {
        const { caller, db } = context;
        if (!isSession(caller)) return;
        await confirmPassword(context, currentPassword);
        await revokeInBatches(db, [caller.userId], revocations.all);
      },
      description:
        'Revokes immediately all credentials of the viewer’s account: sessions (also the session of this request), stream tokens, API keys, and OAuth grants with their tokens. It also revokes a link to set the password, and JWTs that other issuers have issued until now. Deletes the OAuth clients that the account owns, and does not change the password. Always true. A wrong password is BAD_USER_INPUT, too many are RATE_LIMITED. Select it once in an operation. Needs a session; otherwise FORBIDDEN.',
      args: { currentPassword: t.arg.string({ required: true, description: 'The current password.' }) },
      resolve: async (_root, _args, context) => {
        preparedOf(context, 'revokeEverything');
        await revokeEverything(unitOfWorkOf(context), principalOf(context), revocations.all);
        return true;
      },
    }),
  }));
}
