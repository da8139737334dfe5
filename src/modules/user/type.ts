import { ACCOUNT_NAME, MAX_EMAIL_LENGTH } from '../../auth/account/store.ts';
import { type Context, principalOf } from '../../graphql/context.ts';
import { ApiError } from '../../graphql/errors.ts';
import { lengthOf } from '../../graphql/input.ts';
import type { Kernel } from '../../graphql/kernel.ts';
import { nodeFrom } from '../../graphql/node/node-type.ts';
import { connectionOf } from '../../graphql/pagination/fields.ts';
import { instant } from '../../graphql/read/column.ts';
import type { Entity } from '../../graphql/read/entity.ts';
import { loaderOf } from '../../graphql/read/loads.ts';

/** An account as the schema shows it. */
export interface UserRow {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly createdAt: Date;
}

export const userEntity: Entity<UserRow> = {
  name: 'users',
  columns: { id: 'id', name: 'name', email: 'email', createdAt: instant('created_at') },
  source: { from: 'users t', createdAt: 't.created_at', id: 't.id' },
};

const EMAIL_SCOPE = 'users:email';

/** One's own e-mail address needs no scope; that of others needs `users:email` (contract section 3). */
function mayReadEmail(context: Context, user: UserRow): boolean {
  if (principalOf(context).userId === user.id) return true;
  context.notedScopes?.add(EMAIL_SCOPE);
  return context.caller.scopes.has(EMAIL_SCOPE);
}

export function defineUser(kernel: Kernel) {
  const { builder, Node } = kernel;
  const User = builder.loadableObject('User', {
    description: 'A person or a service that writes posts and comments.',
    interfaces: [Node],
    extensions: nodeFrom(userEntity, 'users:read'),
    load: loaderOf<UserRow>(userEntity, 'user'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'A UUIDv7 that never changes.' }),
      name: t.exposeString('name', {
        maxCharacters: ACCOUNT_NAME.max,
        description: `The name shown beside the user’s posts and comments, ${lengthOf(ACCOUNT_NAME)}.`,
      }),
      email: t.string({
        maxCharacters: MAX_EMAIL_LENGTH,
        scopeForOthers: EMAIL_SCOPE,
        columns: ['id', 'email'],
        permittedColumn: 'email',
        description:
          'The e-mail address, unique ignoring case; empty for a deleted account. Visible on your own account and with the scope `users:email`; otherwise FORBIDDEN.',
        resolve: (user, _args, context) => {
          if (mayReadEmail(context, user)) return user.email;
          throw new ApiError(
            'FORBIDDEN',
            `The e-mail address of another account requires the scope "${EMAIL_SCOPE}".`,
            { retriable: true },
          );
        },
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the account was created.' }),
    }),
  });
  return { User, UserConnection: connectionOf(kernel, 'User', User) };
}

export type UserTypes = ReturnType<typeof defineUser>;
