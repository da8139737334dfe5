import type { Kernel } from '../../graphql/kernel.ts';
import { childConnection, childList } from '../../graphql/pagination/list-fields.ts';
import type { ListEdge } from '../../graphql/read/entity.ts';
import type { PostTypes } from '../post/type.ts';
import { type CommentRow, type CommentTypes, commentEntity } from './type.ts';

const commentsOfPost: ListEdge<CommentRow> = {
  name: 'comments_of_post',
  entity: commentEntity,
  parent: 'post_id',
  order: 'oldest-first',
};

/** The comments on a post. */
export function defineCommentEdges(
  { builder }: Kernel,
  { Post }: PostTypes,
  { Comment, CommentConnection }: CommentTypes,
): void {
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
