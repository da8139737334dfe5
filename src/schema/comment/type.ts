import { defineConnection } from '../../engine/builder/connection-type.ts';
import type { SchemaToolkit } from '../../engine/builder/schema-toolkit.ts';
import { lengthOf } from '../../engine/core/input.ts';
import { createEntity, type EntityRow } from '../../engine/queries/entity.ts';
import { comments } from '../../generated/tables.ts';
import type { ContentLimits } from '../content-limits.ts';
import type { PostTypes } from '../post/type.ts';
import type { UserTypes } from '../user/type.ts';

export const commentEntity = createEntity(comments, {
  fallbacks: { updatedAt: 'createdAt' },
  texts: ['body'],
});

export type CommentRow = EntityRow<typeof commentEntity>;

export function defineComment(
  toolkit: SchemaToolkit,
  { User }: UserTypes,
  { Post }: PostTypes,
  { body }: ContentLimits['comment'],
) {
  const Comment = toolkit.builder.node('Comment', {
    description: 'A user’s comment on a post.',
    entity: commentEntity,
    scope: 'posts:read',
    fields: (t) => ({
      body: t.exposeString('body', {
        maxCharacters: body.max,
        description: `The body, ${lengthOf(body)}, exactly as written.`,
      }),
      author: t.belongsTo(User, 'authorId', { description: 'The author of the comment.' }),
      post: t.belongsTo(Post, 'postId', {
        scope: 'posts:read',
        description: 'The post that the comment is on.',
      }),
      createdAt: t.expose('createdAt', {
        type: 'DateTime',
        description: 'When the comment was created. It never changes.',
      }),
      updatedAt: t.expose('updatedAt', {
        type: 'DateTime',
        description: 'When the body last changed; `createdAt` if it never changed.',
      }),
      version: t.exposeInt('version', {
        description:
          'The version of the body, for `ifVersion`. It starts at 1 and increases by 1 with each change.',
      }),
    }),
  });
  return {
    Comment,
    CommentConnection: defineConnection(toolkit, 'Comment', Comment, { counts: 'comments' }),
  };
}

export type CommentTypes = ReturnType<typeof defineComment>;

export function defineCommentRelations(
  { builder }: SchemaToolkit,
  { User }: UserTypes,
  { Post }: PostTypes,
  { Comment, CommentConnection }: CommentTypes,
): void {
  builder.objectFields(User, (t) => ({
    comments: t.hasMany(Comment, 'authorId', {
      order: 'newest-first',
      scope: 'posts:read',
      description: 'The user’s comments, newest first.',
    }),
    commentsConnection: t.hasManyConnection(CommentConnection, 'authorId', {
      order: 'newest-first',
      scope: 'posts:read',
      description: 'The user’s comments as a connection, newest first.',
    }),
  }));
  builder.objectFields(Post, (t) => ({
    comments: t.hasMany(Comment, 'postId', {
      order: 'oldest-first',
      scope: 'posts:read',
      description: 'The comments on the post, oldest first.',
    }),
    commentsConnection: t.hasManyConnection(CommentConnection, 'postId', {
      order: 'oldest-first',
      scope: 'posts:read',
      description: 'The comments on the post as a connection, oldest first.',
    }),
  }));
}
