import type { Context } from '../../graphql/context.ts';
import { lengthOf } from '../../graphql/input.ts';
import type { Kernel } from '../../graphql/kernel.ts';
import { nodeFrom } from '../../graphql/node/node-type.ts';
import { connectionOf } from '../../graphql/pagination/fields.ts';
import { childConnection, childList } from '../../graphql/pagination/list-fields.ts';
import { instant } from '../../graphql/read/column.ts';
import type { Entity, ListEdge } from '../../graphql/read/entity.ts';
import { inRound, loaderOf } from '../../graphql/read/loads.ts';
import { statement } from '../../platform/db/statement.ts';
import type { Rules } from '../rules.ts';
import { type UserTypes, userEntity } from '../user/type.ts';

/** A post as the schema shows it. */
export interface PostRow {
  readonly id: string;
  readonly title: string;
  readonly body: string;
  readonly authorId: string;
  readonly commentCount: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly version: number;
}

export const postEntity: Entity<PostRow, 'posts'> = {
  name: 'posts',
  columns: {
    id: 'id',
    title: 'title',
    body: 'body',
    authorId: 'author_id',
    commentCount: 'comment_count',
    createdAt: instant('created_at'),
    updatedAt: instant('updated_at', 'created_at'),
    version: 'version',
  },
  source: { from: 'posts t', createdAt: 't.created_at', id: 't.id' },
  texts: ['body'],
  narrowed: {
    from: 'tags g JOIN posts t ON t.id = g.post_id',
    keys: 'tags g',
    createdAt: 'g.created_at',
    id: 'g.post_id',
    value: 'g.name',
  },
};

interface TagsRow {
  readonly postId: string;
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
  const { builder, Node } = kernel;
  const Post = builder.loadableObject('Post', {
    description: 'A text by a user that others read and comment on.',
    interfaces: [Node],
    extensions: nodeFrom(postEntity, 'posts:read'),
    load: loaderOf<PostRow>(postEntity, 'post'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'A UUIDv7 that never changes.' }),
      title: t.exposeString('title', {
        maxCharacters: title.max,
        description: `${lengthOf(title)}, with a visible character.`,
      }),
      body: t.exposeString('body', {
        maxCharacters: body.max,
        description: `The text, ${lengthOf(body)}, exactly as it was written.`,
      }),
      author: t.field({
        type: User,
        edge: { kind: 'one', entity: userEntity, key: 'authorId' },
        description: 'Who wrote the post.',
        resolve: (post) => post.authorId,
      }),
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
  return { Post, PostConnection: connectionOf(kernel, 'Post', Post) };
}

export type PostTypes = ReturnType<typeof definePost>;

const postsOfUser: ListEdge<PostRow> = {
  name: 'posts_of_user',
  entity: postEntity,
  parent: 'author_id',
  order: 'newest-first',
};

/** The posts of a user. */
export function definePostEdges(
  { builder }: Kernel,
  { User }: UserTypes,
  { Post, PostConnection }: PostTypes,
): void {
  builder.objectFields(User, (t) => ({
    posts: childList(t, {
      type: Post,
      list: postsOfUser,
      offset: false,
      scope: 'posts:read',
      description: 'The user’s posts, newest first.',
    }),
    postsConnection: childConnection(t, {
      type: PostConnection,
      list: postsOfUser,
      scope: 'posts:read',
      description: 'The user’s posts as a connection, newest first.',
    }),
  }));
}
