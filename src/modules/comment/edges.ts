import { builder } from '../../graphql/builder.ts';
import { connectionPage, listPage } from '../../graphql/pagination/arguments.ts';
import {
  connectionArguments,
  connectionOf,
  limitArgument,
  listCost,
  offsetArgument,
} from '../../graphql/pagination/fields.ts';
import { loadSlices } from '../../graphql/pagination/slice.ts';
import type { ListEdge } from '../../graphql/read/entity.ts';
import { loadPages } from '../../graphql/read/loads.ts';
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
  comments: t.loadableList({
    type: Comment,
    edge: { kind: 'many', list: commentsOfPost, page: listPage },
    byPath: true,
    scope: 'posts:read',
    complexity: listCost,
    description: 'The comments on the post, the oldest first. Needs the scope `posts:read`.',
    args: { limit: limitArgument(t.arg), offset: offsetArgument(t.arg) },
    resolve: (post) => post.id,
    load: async (ids: string[], context, args, info) =>
      loadPages(context, commentsOfPost, ids, listPage(args), info),
  }),
  commentsConnection: t.loadable({
    type: CommentConnection,
    edge: { kind: 'connection', list: commentsOfPost, page: connectionPage },
    byPath: true,
    scope: 'posts:read',
    complexity: listCost,
    description: 'The comments on the post page by page, the oldest first. Needs the scope `posts:read`.',
    args: connectionArguments(t.arg),
    resolve: (post) => post.id,
    load: async (ids: string[], context, args, info) =>
      loadSlices(context, commentsOfPost, ids, connectionPage(args), info),
  }),
}));
