import { builder } from '../../graphql/builder.ts';
import { principalOf } from '../../graphql/context.ts';
import { parseId } from '../../graphql/input.ts';
import { connectionPage, listPage } from '../../graphql/pagination/arguments.ts';
import {
  connectionArguments,
  connectionOf,
  limitArgument,
  listCost,
  offsetArgument,
} from '../../graphql/pagination/fields.ts';
import { readSlice } from '../../graphql/pagination/slice.ts';
import type { ListEdge } from '../../graphql/read/entity.ts';
import { readById, readPage } from '../../graphql/read/read.ts';
import { User, type UserRow, userEntity } from './type.ts';

const allUsers: ListEdge<UserRow> = { name: 'users', entity: userEntity, order: 'oldest-first' };

export const UserConnection = connectionOf('User', User);

builder.queryFields((t) => ({
  user: t.field({
    type: User,
    nullable: true,
    scope: 'users:read',
    edge: { kind: 'row', entity: userEntity, id: (args) => parseId(String(args.id)) },
    description: 'The user with the id; null where there is none. Needs the scope `users:read`.',
    args: {
      id: t.arg.id({ required: true, description: 'The user’s id. A string that is no UUID names nobody.' }),
    },
    resolve: async (_root, args, { db }) => {
      const id = parseId(args.id);
      return id === undefined ? null : ((await readById(db, userEntity, id)) ?? null);
    },
  }),
  users: t.field({
    type: [User],
    scope: 'users:read',
    edge: { kind: 'many', list: allUsers, page: listPage },
    complexity: listCost,
    description: 'All users, the oldest account first. Needs the scope `users:read`.',
    args: { limit: limitArgument(t.arg), offset: offsetArgument(t.arg) },
    resolve: (_root, args, { db }) => readPage(db, allUsers, listPage(args)),
  }),
  usersConnection: t.field({
    type: UserConnection,
    scope: 'users:read',
    edge: { kind: 'connection', list: allUsers, page: connectionPage },
    complexity: listCost,
    description: 'All users page by page, the oldest account first. Needs the scope `users:read`.',
    args: connectionArguments(t.arg),
    resolve: (_root, args, { db }) => readSlice(db, allUsers, connectionPage(args)),
  }),
  viewer: t.field({
    type: User,
    scope: 'users:read',
    edge: { kind: 'row', entity: userEntity, id: (_args, context) => principalOf(context).userId },
    description: 'The account behind the credentials of this request. Needs the scope `users:read`.',
    resolve: (_root, _args, context) => principalOf(context).userId,
  }),
}));
