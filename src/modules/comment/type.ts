import { lengthOf } from '../../graphql/input.ts';
import type { Kernel } from '../../graphql/kernel.ts';
import { nodeFrom } from '../../graphql/node/node-type.ts';
import { connectionOf } from '../../graphql/pagination/fields.ts';
import { childConnection, childList } from '../../graphql/pagination/list-fields.ts';
import { instant } from '../../graphql/read/column.ts';
import type { Entity, ListEdge } from '../../graphql/read/entity.ts';
import { loaderOf } from '../../graphql/read/loads.ts';
import { type PostTypes, postEntity } from '../post/type.ts';
import type { Rules } from '../rules.ts';
import { type UserTypes, userEntity } from '../user/type.ts';

/** A comment as the schema shows it. */
export interface CommentRow {
  readonly id: string;
  readonly body: string;
  readonly postId: string;
  readonly authorId: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly version: number;
}

export const commentEntity: Entity<CommentRow> = {
  name: 'comments',
  columns: {
    id: 'id',
    body: 'body',
    postId: 'post_id',
    authorId: 'author_id',
    createdAt: instant('created_at'),
    updatedAt: instant('updated_at', 'created_at'),
    version: 'version',
  },
  source: { from: 'comments t', createdAt: 't.created_at', id: 't.id' },
  texts: ['body'],
};

export function defineComment(
  kernel: Kernel,
  { User }: UserTypes,
  { Post }: PostTypes,
  { body }: Rules['comment'],
) {
  const { builder, Node } = kernel;
  const Comment = builder.loadableObject('Comment', {
    description: 'A user’s comment on a post.',
    interfaces: [Node],
    extensions: nodeFrom(commentEntity, 'posts:read'),
    load: loaderOf<CommentRow>(commentEntity, 'comment'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'A UUIDv7 that never changes.' }),
      body: t.exposeString('body', {
        maxCharacters: body.max,
        description: `The text, ${lengthOf(body)}, exactly as it was written.`,
      }),
      author: t.field({
        type: User,
        edge: { kind: 'one', entity: userEntity, key: 'authorId' },
        description: 'Who wrote the comment.',
        resolve: (comment) => comment.authorId,
      }),
      post: t.field({
        type: Post,
        edge: { kind: 'one', entity: postEntity, key: 'postId' },
        scope: 'posts:read',
        description: 'The post that the comment is on.',
        resolve: (comment) => comment.postId,
      }),
      createdAt: t.expose('createdAt', {
        type: 'DateTime',
        description: 'When the comment was created. It never changes.',
      }),
      updatedAt: t.expose('updatedAt', {
        type: 'DateTime',
        description: 'When its text last changed; `createdAt` until then.',
      }),
      version: t.exposeInt('version', {
        description: 'The version of its text: 1, and one more with each change. For `ifVersion`.',
      }),
    }),
  });
  return { Comment, CommentConnection: connectionOf(kernel, 'Comment', Comment) };
}

export type CommentTypes = ReturnType<typeof defineComment>;

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
