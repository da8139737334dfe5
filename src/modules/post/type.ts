import { posts, type Tag, tags } from '../../generated/tables.ts';
import type { Context } from '../../graphql/context.ts';
import { lengthOf } from '../../graphql/input.ts';
import type { Kernel } from '../../graphql/kernel.ts';
import { defineConnection } from '../../graphql/pagination/connection.ts';
import { createEntity, type EntityRow } from '../../graphql/read/entity.ts';
import { inRound } from '../../graphql/read/loads.ts';
import { statement } from '../../platform/db/statement.ts';
import type { Rules } from '../rules.ts';
import type { UserTypes } from '../user/type.ts';

export const postEntity = createEntity(posts, {
  fallbacks: { updatedAt: 'createdAt' },
  texts: ['body'],
  narrowed: { by: tags, key: 'postId', value: 'name' },
});

/** A post as the schema shows it. */
export type PostRow = EntityRow<typeof postEntity>;

interface TagsRow extends Pick<Tag, 'postId'> {
  readonly names: string[];
}

const TAGS_OF_POSTS = statement<TagsRow>(
  'tags_of_posts',
  'SELECT post_id AS "postId", array_agg(name ORDER BY position) AS names FROM tags WHERE post_id = ANY($1::uuid[]) GROUP BY post_id',
);

/** The tags of each post, in the order given. */
async function readTags({ db }: Context, postIds: readonly string[]): Promise<string[][]> {
  const rows = await db.query(TAGS_OF_POSTS, [postIds]);
  const found = new Map(rows.map(({ postId, names }) => [postId, names]));
  return postIds.map((id) => found.get(id) ?? []);
}

export function definePost(
  kernel: Kernel,
  { User }: UserTypes,
  { title, body, tag, maxTags }: Rules['post'],
) {
  const Post = kernel.builder.node('Post', {
    description: 'A text by a user that others read and comment on.',
    entity: postEntity,
    scope: 'posts:read',
    fields: (t) => ({
      title: t.exposeString('title', {
        maxCharacters: title.max,
        description: `${lengthOf(title)}, with a visible character.`,
      }),
      body: t.exposeString('body', {
        maxCharacters: body.max,
        description: `The text, ${lengthOf(body)}, exactly as it was written.`,
      }),
      author: t.belongsTo(User, 'authorId', { description: 'Who wrote the post.' }),
      commentCount: t.exposeInt('commentCount', {
        description: 'The current number of comments on the post.',
      }),
      createdAt: t.expose('createdAt', {
        type: 'DateTime',
        description: 'When the post was created. It never changes.',
      }),
      updatedAt: t.expose('updatedAt', {
        type: 'DateTime',
        description: 'When its text or tags last changed; `createdAt` until then. Comments do not change it.',
      }),
      version: t.exposeInt('version', {
        description: 'The version of its text and tags: 1, and one more with each change. For `ifVersion`.',
      }),
      tags: t.loadableList({
        type: 'String',
        // One more per tag for quotes and comma.
        maxCharacters: maxTags * (tag.max + 1),
        edge: {
          kind: 'value',
          sql: ({ id }) => `ARRAY(SELECT g.name FROM tags g WHERE g.post_id = ${id} ORDER BY g.position)`,
        },
        description: `The tags of the post, at most ${maxTags}, in the order given.`,
        resolve: (post) => post.id,
        load: (ids: string[], context) =>
          inRound(context, TAGS_OF_POSTS, ids, (all) => readTags(context, all)),
      }),
    }),
  });
  return { Post, PostConnection: defineConnection(kernel, 'Post', Post) };
}

export type PostTypes = ReturnType<typeof definePost>;

/** The posts of a user. */
export function definePostEdges(
  { builder }: Kernel,
  { User }: UserTypes,
  { Post, PostConnection }: PostTypes,
): void {
  builder.objectFields(User, (t) => ({
    posts: t.hasMany(Post, 'authorId', {
      order: 'newest-first',
      offset: false,
      scope: 'posts:read',
      description: 'The user’s posts, newest first.',
    }),
    postsConnection: t.hasManyConnection(PostConnection, 'authorId', {
      order: 'newest-first',
      scope: 'posts:read',
      description: 'The user’s posts as a connection, newest first.',
    }),
  }));
}
