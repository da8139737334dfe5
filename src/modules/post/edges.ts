import { builder } from '../../graphql/builder.ts';
import { connectionPage, listPage } from '../../graphql/pagination/arguments.ts';
import {
  connectionArguments,
  connectionOf,
  limitArgument,
  listCost,
} from '../../graphql/pagination/fields.ts';
import { loadSlices } from '../../graphql/pagination/slice.ts';
import type { ListEdge } from '../../graphql/read/entity.ts';
import { loadPages } from '../../graphql/read/loads.ts';
import { User } from '../user/type.ts';
import { Post, type PostRow, postEntity } from './type.ts';

const postsOfUser: ListEdge<PostRow> = {
  name: 'posts_of_user',
  entity: postEntity,
  parent: 'author_id',
  order: 'newest-first',
};

export const PostConnection = connectionOf('Post', Post);

builder.objectFields(User, (t) => ({
  posts: t.loadableList({
    type: Post,
    edge: { kind: 'many', list: postsOfUser, page: listPage },
    byPath: true,
    scope: 'posts:read',
    complexity: listCost,
    description: 'The posts of the user, the newest first. Needs the scope `posts:read`.',
    args: { limit: limitArgument(t.arg) },
    resolve: (user) => user.id,
    load: async (ids: string[], context, args, info) =>
      loadPages(context, postsOfUser, ids, listPage(args), info),
  }),
  postsConnection: t.loadable({
    type: PostConnection,
    edge: { kind: 'connection', list: postsOfUser, page: connectionPage },
    byPath: true,
    scope: 'posts:read',
    complexity: listCost,
    description: 'The posts of the user page by page, the newest first. Needs the scope `posts:read`.',
    args: connectionArguments(t.arg),
    resolve: (user) => user.id,
    load: async (ids: string[], context, args, info) =>
      loadSlices(context, postsOfUser, ids, connectionPage(args), info),
  }),
}));
