import type { Kernel } from '../../graphql/kernel.ts';
import { childConnection, childList } from '../../graphql/pagination/list-fields.ts';
import type { ListEdge } from '../../graphql/read/entity.ts';
import type { PostTypes } from '../post/type.ts';
import type { UserTypes } from '../user/type.ts';
import { type CommentRow, type CommentTypes, commentEntity } from './type.ts';

const commentsOfPost: ListEdge<CommentRow> = {
  name: 'comments_of_post',
  entity: commentEntity,
  parent: 'post_id',
  order: 'oldest-first',
};

const commentsOfUser: ListEdge<CommentRow> = {
  name: 'comments_of_user',
  entity: commentEntity,
  parent: 'author_id',
  order: 'newest-first',
};

/** The comments on a post, and those by a user. */
export function defineCommentEdges(
  { builder }: Kernel,
  { User }: UserTypes,
  { Post }: PostTypes,
  { Comment, CommentConnection }: CommentTypes,
): void {
  builder.objectFields(User, (t) => ({
    comments: childList(t, {
      type: Comment,
      list: commentsOfUser,
      scope: 'posts:read',
      description: 'The user’s comments, newest first.',
    }),
    commentsConnection: childConnection(t, {
      type: CommentConnection,
      list: commentsOfUser,
      scope: 'posts:read',
      description: 'The user’s comments as a connection, newest first.',
    }),
  }));
  builder.objectFields(Post, (t) => ({
    comments: childList(t, {
      type: Comment,
      list: commentsOfPost,
      scope: 'posts:read',
      description: 'The comments on the post, oldest first.',
    }),
    commentsConnection: childConnection(t, {
      type: CommentConnection,
      list: commentsOfPost,
      scope: 'posts:read',
      description: 'The comments on the post as a connection, oldest first.',
    }),
  }));
}
