import { builder } from '../../graphql/builder.ts';
import { connectionOf } from '../../graphql/pagination/fields.ts';
import { childConnection, childList } from '../../graphql/pagination/list-fields.ts';
import type { ListEdge } from '../../graphql/read/entity.ts';
import { Post } from '../post/type.ts';
import { Comment, type CommentRow, commentEntity } from './type.ts';

const commentsOfPost: ListEdge<CommentRow> = {
  name: 'comments_of_post',
  entity: commentEntity,
  parent: 'post_id',
  order: 'oldest-first',
};

const CommentConnection = connectionOf('Comment', Comment);

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
