import { principalOf } from '../../graphql/context.ts';
import { parseId } from '../../graphql/input.ts';
import type { Kernel } from '../../graphql/kernel.ts';
import { connectionPage, listPage } from '../../graphql/pagination/arguments.ts';
import { connectionArguments, limitArgument, offsetArgument } from '../../graphql/pagination/fields.ts';
import { rootConnection, rootList } from '../../graphql/pagination/list-fields.ts';
import type { ListEdge } from '../../graphql/read/entity.ts';
import { readById } from '../../graphql/read/read.ts';
import { type UserRow, type UserTypes, userEntity } from './type.ts';

const allUsers: ListEdge<UserRow> = { name: 'users', entity: userEntity, order: 'oldest-first' };

export function defineUserQueries({ builder }: Kernel, { User, UserConnection }: UserTypes): void {
  builder.queryFields((t) => ({
    user: t.field({
      type: User,
      nullable: true,
      scope: 'users:read',
      edge: { kind: 'row', entity: userEntity, id: (args) => parseId(String(args.id)) },
      description: 'The user with this id, or null if there is none.',
      args: {
        id: t.arg.id({
          required: true,
          description: 'The user’s id. A string that is not a UUID matches nobody.',
        }),
      },
      resolve: async (_root, args, { db }) => {
        const id = parseId(args.id);
        return id === undefined ? null : ((await readById(db, userEntity, id)) ?? null);
      },
    }),
    users: rootList(t, {
      type: User,
      list: allUsers,
      scope: 'users:read',
      description: 'All users, oldest account first.',
      args: { limit: limitArgument(t.arg), offset: offsetArgument(t.arg) },
      page: listPage,
    }),
    usersConnection: rootConnection(t, {
      type: UserConnection,
      list: allUsers,
      scope: 'users:read',
      description: 'All users as a connection, oldest account first.',
      args: connectionArguments(t.arg),
      page: connectionPage,
    }),
    viewer: t.field({
      type: User,
      scope: 'users:read',
      edge: {
        kind: 'row',
        entity: userEntity,
        id: (_args, context) => principalOf(context).userId,
        own: true,
      },
      description: 'The account that the credentials of this request belong to.',
      resolve: (_root, _args, context) => principalOf(context).userId,
    }),
  }));
}
