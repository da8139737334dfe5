import { builder } from '../../graphql/builder.ts';
import { principalOf, unitOfWorkOf } from '../../graphql/context.ts';
import { parseId } from '../../graphql/input.ts';
import { ownAccount } from './locks.ts';
import { changePassword, endApiKey, endGrant, endSession, makeApiKey } from './service.ts';
import { ApiKey, type ApiKeyRow } from './type.ts';

const CreatedApiKey = builder
  .objectRef<{ readonly key: string; readonly apiKey: ApiKeyRow }>('CreatedApiKey')
  .implement({
    description: 'A key that has just been made.',
    fields: (t) => ({
      key: t.exposeString('key', {
        secret: true,
        description: 'The key itself. It is shown this once: only a hash of it is kept.',
      }),
      apiKey: t.expose('apiKey', { type: ApiKey, description: 'What is kept of the key.' }),
    }),
  });

builder.mutationFields((t) => ({
  createApiKey: t.field({
    session: true,
    locks: ownAccount,
    type: CreatedApiKey,
    description:
      'Makes an API key for the viewer’s account, which may have 100 that are neither revoked nor expired: the next is BAD_USER_INPUT. Needs a session; otherwise FORBIDDEN.',
    args: {
      name: t.arg.string({ required: true, description: 'What it is for, 1 to 100 characters.' }),
      scopes: t.arg.stringList({
        required: true,
        description:
          'What it allows: `posts:read`, `posts:write`, `comments:write`, `users:read` and, for admins, `users:email`. FORBIDDEN where the account cannot hold one.',
      }),
      expiresAt: t.arg({
        type: 'DateTime',
        description: 'When it ends by itself. Without it, it is valid until revoked.',
      }),
    },
    resolve: (_root, args, context) => {
      const principal = principalOf(context);
      return makeApiKey(unitOfWorkOf(context), principal, args);
    },
  }),
  revokeApiKey: t.boolean({
    session: true,
    locks: ownAccount,
    description:
      'Ends an API key of the viewer’s account for good. True where it was there, false where it was not (any more). Needs a session; otherwise FORBIDDEN.',
    args: { id: t.arg.id({ required: true, description: 'The id of the key, not the key itself.' }) },
    resolve: (_root, { id }, context) => {
      const principal = principalOf(context);
      return endApiKey(unitOfWorkOf(context), principal, parseId(id));
    },
  }),
  revokeSession: t.boolean({
    session: true,
    locks: ownAccount,
    description:
      'Ends a session of the viewer’s account, this one included. True where it was there, false where it was not (any more). Needs a session; otherwise FORBIDDEN.',
    args: { id: t.arg.id({ required: true, description: 'The id of the session.' }) },
    resolve: (_root, { id }, context) => {
      const principal = principalOf(context);
      return endSession(unitOfWorkOf(context), principal, parseId(id));
    },
  }),
  revokeGrant: t.boolean({
    session: true,
    locks: ownAccount,
    description:
      'Takes back what the viewer’s account has allowed an OAuth client, with every token that the client holds for it. True where it was there, false where it was not (any more). Needs a session; otherwise FORBIDDEN.',
    args: { id: t.arg.id({ required: true, description: 'The id of the grant.' }) },
    resolve: (_root, { id }, context) => {
      const principal = principalOf(context);
      return endGrant(unitOfWorkOf(context), principal, parseId(id));
    },
  }),
  changePassword: t.boolean({
    session: true,
    locks: ownAccount,
    description:
      'Changes the password of the viewer’s account and ends its other sessions. True, always: a wrong current password is BAD_USER_INPUT and counts as a failed login. Needs a session; otherwise FORBIDDEN.',
    args: {
      currentPassword: t.arg.string({ required: true, description: 'The password as it is now.' }),
      newPassword: t.arg.string({ required: true, description: '12 to 200 characters.' }),
    },
    resolve: async (_root, { currentPassword, newPassword }, context) => {
      const principal = principalOf(context);
      const { passwords } = context;
      await changePassword(unitOfWorkOf(context), passwords, principal, currentPassword, newPassword);
      return true;
    },
  }),
}));
