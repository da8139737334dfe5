import { defineConnection } from '../../../src/engine/builder/connection-type.ts';
import type { SchemaToolkit } from '../../../src/engine/builder/schema-toolkit.ts';
import { createEntity } from '../../../src/engine/queries/entity.ts';
import type { Table } from '../../../src/generated/tables.ts';
import type { PostTypes } from '../../../src/schema/post/type.ts';

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

const marks: Table<MarkRow & { readonly postId: string }> = {
  name: 'marks',
  columns: {
    id: 'id',
    postId: 'post_id',
    emoji: 'emoji',
    createdAt: 'created_at',
    updatedAt: 'updated_at',
    removedAt: 'removed_at',
  },
};

/** Adds the type to a schema that is being defined. */
export function defineMarks(toolkit: SchemaToolkit, { Post }: PostTypes): void {
  const { builder } = toolkit;
  const Mark = builder.node('Mark', {
    description: 'An emoji on a post.',
    entity: createEntity(marks),
    scope: 'posts:read',
    fields: (t) => ({
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

  const MarkConnection = defineConnection(toolkit, 'Mark', Mark);

  builder.objectFields(Post, (t) => ({
    marks: t.hasMany(Mark, 'postId', {
      order: 'oldest-first',
      scope: 'posts:read',
      description: 'The marks on the post, oldest first.',
    }),
    marksConnection: t.hasManyConnection(MarkConnection, 'postId', {
      order: 'oldest-first',
      scope: 'posts:read',
      description: 'The marks on the post as a connection, oldest first.',
    }),
  }));
}
