import { builder } from '../../graphql/builder.ts';
import { connectionOf } from '../../graphql/pagination/fields.ts';
import { childConnection, childList } from '../../graphql/pagination/list-fields.ts';
import type { ListEdge } from '../../graphql/read/entity.ts';
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
