import type { Kernel } from '../../graphql/kernel.ts';
import { childConnection, childList } from '../../graphql/pagination/list-fields.ts';
import type { ListEdge } from '../../graphql/read/entity.ts';
import type { UserTypes } from '../user/type.ts';
import { type PostRow, type PostTypes, postEntity } from './type.ts';

const postsOfUser: ListEdge<PostRow> = {
  name: 'posts_of_user',
  entity: postEntity,
  parent: 'author_id',
  order: 'newest-first',
};

/** The posts of a user. */
export function definePostEdges(
  { builder }: Kernel,
  { User }: UserTypes,
  { Post, PostConnection }: PostTypes,
): void {
  builder.objectFields(User, (t) => ({
    posts: childList(t, {
      type: Post,
      list: postsOfUser,
      offset: false,
      scope: 'posts:read',
      description: 'The user’s posts, newest first.',
    }),
    postsConnection: childConnection(t, {
      type: PostConnection,
      list: postsOfUser,
      scope: 'posts:read',
      description: 'The user’s posts as a connection, newest first.',
    }),
  }));
}
