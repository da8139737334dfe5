import type { Kernel } from '../../../src/graphql/kernel.ts';
import { nodeFrom } from '../../../src/graphql/node/node-type.ts';
import { connectionOf } from '../../../src/graphql/pagination/fields.ts';
import { childConnection, childList } from '../../../src/graphql/pagination/list-fields.ts';
import { instant } from '../../../src/graphql/read/column.ts';
import type { Entity, ListEdge } from '../../../src/graphql/read/entity.ts';
import { loaderOf } from '../../../src/graphql/read/loads.ts';
import type { PostTypes } from '../../../src/modules/post/type.ts';

/** A type that the product does not have: one with more than one date, of which one may be null. */
export interface MarkRow {
  readonly id: string;
  readonly emoji: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly removedAt: Date | null;
}

/** Its table, which no migration makes. */
export const MARKS_TABLE = `CREATE TABLE marks (
  id uuid PRIMARY KEY, post_id uuid NOT NULL REFERENCES posts (id) ON DELETE CASCADE, emoji text NOT NULL,
  created_at timestamptz(3) NOT NULL, updated_at timestamptz(3) NOT NULL, removed_at timestamptz(3))`;

const markEntity: Entity<MarkRow> = {
  name: 'marks',
  columns: {
    id: 'id',
    emoji: 'emoji',
    createdAt: instant('created_at'),
    updatedAt: instant('updated_at'),
    removedAt: instant('removed_at'),
  },
  source: { from: 'marks t', createdAt: 't.created_at', id: 't.id' },
};

const marksOfPost: ListEdge<MarkRow> = {
  name: 'marks_of_post',
  entity: markEntity,
  parent: 'post_id',
  order: 'oldest-first',
};

/** Adds the type to a schema that is being defined. */
export function defineMarks(kernel: Kernel, { Post }: PostTypes): void {
  const { builder, Node } = kernel;
  const Mark = builder.loadableObject('Mark', {
    description: 'An emoji on a post.',
    interfaces: [Node],
    extensions: nodeFrom(markEntity, 'posts:read'),
    load: loaderOf<MarkRow>(markEntity, 'mark'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'A UUID.' }),
      emoji: t.exposeString('emoji', { maxCharacters: 10, description: 'The emoji.' }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
      removedAt: t.expose('removedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When it was removed.',
      }),
    }),
  });

  const MarkConnection = connectionOf(kernel, 'Mark', Mark);

  builder.objectFields(Post, (t) => ({
    marks: childList(t, {
      type: Mark,
      list: marksOfPost,
      scope: 'posts:read',
      description: 'The marks on the post, oldest first.',
    }),
    marksConnection: childConnection(t, {
      type: MarkConnection,
      list: marksOfPost,
      scope: 'posts:read',
      description: 'The marks on the post as a connection, oldest first.',
    }),
  }));
}
