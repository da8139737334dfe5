import { builder } from '../../graphql/builder.ts';
import { lengthOf } from '../../graphql/input.ts';
import { Node } from '../../graphql/node/interface.ts';
import { nodeFrom } from '../../graphql/node/node-type.ts';
import { instant } from '../../graphql/read/column.ts';
import type { Entity } from '../../graphql/read/entity.ts';
import { loaderOf } from '../../graphql/read/loads.ts';
import { Post, postEntity } from '../post/type.ts';
import { User, userEntity } from '../user/type.ts';
import { BODY } from './rules.ts';

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
  columns: {
    id: 'id',
    body: 'body',
    postId: 'post_id',
    authorId: 'author_id',
    createdAt: instant('created_at'),
  },
  source: { from: 'comments t', createdAt: 't.created_at', id: 't.id' },
  texts: ['body'],
};

export const Comment = builder.loadableObject('Comment', {
  description: 'A user’s comment on a post.',
  interfaces: [Node],
  extensions: nodeFrom(commentEntity, 'posts:read'),
  load: loaderOf<CommentRow>(commentEntity, 'comment'),
  fields: (t) => ({
    id: t.exposeID('id', { description: 'A UUIDv7 that never changes.' }),
    body: t.exposeString('body', {
      maxCharacters: BODY.max,
      description: `The text, ${lengthOf(BODY)}, exactly as it was written.`,
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
  }),
});
