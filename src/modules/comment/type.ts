import { builder } from '../../graphql/builder.ts';
import type { Context } from '../../graphql/context.ts';
import { notFound } from '../../graphql/errors.ts';
import type { Entity } from '../../graphql/read/entity.ts';
import { loadByIds } from '../../graphql/read/loads.ts';
import { Post, postEntity } from '../post/type.ts';
import { User, userEntity } from '../user/type.ts';

/** A comment as the schema shows it. */
export interface CommentRow {
  readonly id: string;
  readonly body: string;
  readonly postId: string;
  readonly authorId: string;
  readonly createdAt: Date;
}

export const commentEntity: Entity<CommentRow> = {
  name: 'comments',
  columns: { id: 'id', body: 'body', postId: 'post_id', authorId: 'author_id', createdAt: 'created_at' },
  source: { from: 'comments t', createdAt: 't.created_at', id: 't.id' },
  texts: ['body'],
};

export const Comment = builder.loadableObject('Comment', {
  description: 'What a user says about a post.',
  load: async (ids: string[], context: Context): Promise<(CommentRow | Error)[]> => {
    const rows = await loadByIds(context, commentEntity, ids);
    return rows.map((row) => row ?? notFound('comment'));
  },
  fields: (t) => ({
    id: t.exposeID('id', { description: 'A UUIDv7 that never changes.' }),
    body: t.exposeString('body', {
      maxCharacters: 5_000,
      description: 'The text, 1 to 5,000 characters, exactly as it was written.',
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
      description: 'What the comment is about. Needs the scope `posts:read`.',
      resolve: (comment) => comment.postId,
    }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      description: 'When the comment was created. It never changes.',
    }),
  }),
});
