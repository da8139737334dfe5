import { statement } from '../../database/statement.ts';
import { defineConnection } from '../../engine/builder/connection-type.ts';
import {
  connectionArguments,
  limitArgument,
  offsetArgument,
  rootConnection,
  rootList,
} from '../../engine/builder/connections.ts';
import type { SchemaToolkit } from '../../engine/builder/schema-toolkit.ts';
import type { Context } from '../../engine/core/context.ts';
import { checkCharacters, checkText, lengthOf, parseId, type TextRule } from '../../engine/core/input.ts';
import { createEntity, type EntityRow, type ListRelation, selectList } from '../../engine/queries/entity.ts';
import { inLoaderBatch, readById } from '../../engine/queries/loaders.ts';
import { connectionPage, type PageRange, parseListPage } from '../../engine/queries/pagination.ts';
import { posts, type Tag, tags } from '../../generated/tables.ts';
import { badInput } from '../../platform/errors.ts';
import type { ContentLimits } from '../content-limits.ts';
import { POST_CREATED } from '../event-kinds.ts';
import type { UserTypes } from '../user/type.ts';
import { excerptLength, excerptOf, excerptSql } from './excerpt.ts';
import {
  definePostListArguments,
  narrowPosts,
  type PostListInput,
  postListChecksRows,
} from './list-arguments.ts';
import { idOfSlug, isSlug } from './slug.ts';

export const postEntity = createEntity(posts, {
  fallbacks: { updatedAt: 'createdAt', slug: 'id' },
  texts: ['body'],
  filteredBy: { by: tags, key: 'postId', value: 'name' },
});

export type PostRow = EntityRow<typeof postEntity>;

const POST_BY_SLUG = statement<PostRow>(
  'post_by_slug',
  `SELECT ${selectList(postEntity)} FROM posts t WHERE t.id = ${idOfSlug('$1')}`,
);

/** Other strings match nothing, and PostgreSQL cannot store some of them. */
const knownSlug = (slug: string, rule: TextRule) =>
  isSlug(checkCharacters('slug', slug), rule) ? slug : undefined;

interface TagsRow extends Pick<Tag, 'postId'> {
  readonly names: string[];
}

const TAGS_OF_POSTS = statement<TagsRow>(
  'tags_of_posts',
  'SELECT post_id AS "postId", array_agg(name ORDER BY position) AS names FROM tags WHERE post_id = ANY($1::uuid[]) GROUP BY post_id',
);

async function readTags({ db }: Context, postIds: readonly string[]): Promise<string[][]> {
  const rows = await db.query(TAGS_OF_POSTS, [postIds]);
  const found = new Map(rows.map(({ postId, names }) => [postId, names]));
  return postIds.map((id) => found.get(id) ?? []);
}

export function definePost(toolkit: SchemaToolkit, { User }: UserTypes, limits: ContentLimits['post']) {
  const { title, body, tag, maxTags, slug, excerpt } = limits;
  const Post = toolkit.builder.node('Post', {
    description: 'A post of a user, which other users read and comment on.',
    entity: postEntity,
    scope: 'posts:read',
    fields: (t) => ({
      title: t.exposeString('title', {
        maxCharacters: title.max,
        description: `${lengthOf(title)}, with a visible character.`,
      }),
      body: t.exposeString('body', {
        maxCharacters: body.max,
        description: `The body, ${lengthOf(body)}, exactly as written.`,
      }),
      slug: t.exposeString('slug', {
        maxCharacters: slug.max,
        description: `A unique name for URLs, ${lengthOf(slug)} of \`a\` to \`z\`, \`0\` to \`9\` and \`-\`. It does not change with the title.`,
      }),
      excerpt: t.string({
        args: {
          length: t.arg.int({
            defaultValue: excerpt.standard,
            description: `The maximum number of characters of the body: ${excerpt.min} to ${excerpt.max.toLocaleString('en')}; ${excerpt.standard} if null.`,
          }),
        },
        columns: ['body'],
        // With the ellipsis.
        maxCharacters: excerpt.max + 1,
        sql: {
          kind: 'value',
          parameters: ({ length }) => ({ length: excerptLength(length, excerpt) }),
          expression: (post, { length }) => excerptSql(post.body, length),
        },
        description:
          'The beginning of the body on one line. A longer body is cut between two words, and an ellipsis follows.',
        resolve: (post, { length }) => excerptOf(post.body, excerptLength(length, excerpt)),
      }),
      author: t.belongsTo(User, 'authorId', { description: 'The author of the post.' }),
      commentCount: t.exposeInt('commentCount', {
        description: 'The current number of comments on the post.',
      }),
      createdAt: t.expose('createdAt', {
        type: 'DateTime',
        description: 'When the post was created. It never changes.',
      }),
      updatedAt: t.expose('updatedAt', {
        type: 'DateTime',
        description:
          'When the title, the body, the tags or the slug last changed; `createdAt` if they never changed. Comments do not change it.',
      }),
      version: t.exposeInt('version', {
        description:
          'The version of the title, the body, the tags and the slug, for `ifVersion`. It starts at 1 and increases by 1 with each change.',
      }),
      tags: t.loadableList({
        type: 'String',
        // Quotes and comma count as one more character for each tag.
        maxCharacters: maxTags * (tag.max + 1),
        sql: {
          kind: 'value',
          expression: ({ id }) =>
            `ARRAY(SELECT g.name FROM tags g WHERE g.post_id = ${id} ORDER BY g.position)`,
        },
        description: `The tags of the post, at most ${maxTags}, in the order given.`,
        resolve: (post) => post.id,
        load: (ids: string[], context) =>
          inLoaderBatch(context, TAGS_OF_POSTS, ids, (all) => readTags(context, all)),
      }),
    }),
  });
  return {
    Post,
    PostConnection: defineConnection(toolkit, 'Post', Post, { counts: 'posts' }),
    ...definePostListArguments(toolkit, limits),
  };
}

export type PostTypes = ReturnType<typeof definePost>;

export function definePostRelations(
  { builder }: SchemaToolkit,
  { User }: UserTypes,
  { Post, PostConnection, listArguments }: PostTypes,
  limits: ContentLimits['post'],
): void {
  const narrowed = {
    args: listArguments,
    narrow: (args: PostListInput) => narrowPosts(args, limits),
    checksRows: postListChecksRows(true),
  };
  builder.objectFields(User, (t) => ({
    posts: t.hasMany(Post, 'authorId', {
      order: 'newest-first',
      offset: false,
      scope: 'posts:read',
      narrowed,
      description: 'The user’s posts, newest first by default.',
    }),
    postsConnection: t.hasManyConnection(PostConnection, 'authorId', {
      order: 'newest-first',
      scope: 'posts:read',
      narrowed,
      description: 'The user’s posts as a connection, newest first by default.',
    }),
  }));
}

const allPosts: ListRelation<PostRow> = { name: 'posts', entity: postEntity, order: 'newest-first' };

interface RootListInput extends PostListInput {
  readonly offset?: number | null | undefined;
  readonly createdAfter?: Date | null | undefined;
  readonly tag?: string | null | undefined;
}

/**
 * Joins the arguments `createdAfter` and `tag` with the filter.
 * @throws {ApiError} BAD_USER_INPUT
 */
function narrowAllPosts(
  { offset, createdAfter, tag, filter, orderBy }: RootListInput,
  limits: ContentLimits['post'],
): Pick<PageRange, 'order' | 'filter'> {
  if (createdAfter != null && offset != null)
    throw badInput('offset', 'cannot be combined with "createdAfter". Send one of them.');
  if (createdAfter != null && filter?.createdAfter != null)
    throw badInput('createdAfter', 'cannot be combined with "createdAfter" of "filter". Send one of them.');
  if (createdAfter != null && orderBy != null && orderBy !== 'oldest-first')
    throw badInput('orderBy', 'must be OLDEST with "createdAfter". Use "createdAfter" of "filter" instead.');
  if (tag != null && filter?.tags != null)
    throw badInput('tag', 'cannot be combined with "tags" of "filter". Send one of them.');
  const tags = tag == null ? filter?.tags : [checkText('tag', tag, limits.tag)];
  const joined = { ...filter, tags, createdAfter: createdAfter ?? filter?.createdAfter };
  return narrowPosts({ filter: joined, orderBy: createdAfter == null ? orderBy : 'oldest-first' }, limits);
}

export function definePostQueries(
  { builder }: SchemaToolkit,
  { Post, PostConnection, listArguments }: PostTypes,
  limits: ContentLimits['post'],
): void {
  builder.queryFields((t) => ({
    post: t.field({
      type: Post,
      nullable: true,
      scope: 'posts:read',
      sql: { kind: 'row', entity: postEntity, id: (args) => parseId(String(args.id)) },
      description: 'The post with this id, or null if there is none.',
      args: {
        id: t.arg.id({
          required: true,
          description: 'The post’s id. A string that is not a UUID matches nothing.',
        }),
      },
      resolve: async (_root, args, { db }) => {
        const id = parseId(args.id);
        return id === undefined ? null : ((await readById(db, postEntity, id)) ?? null);
      },
    }),
    postBySlug: t.field({
      type: Post,
      nullable: true,
      scope: 'posts:read',
      sql: {
        kind: 'row',
        entity: postEntity,
        id: ({ slug }) => knownSlug(String(slug), limits.slug),
        find: idOfSlug,
      },
      description:
        'The post with this slug, or else the last post that had it, or null. Compare `slug` to redirect from a former slug.',
      args: { slug: t.arg.string({ required: true, description: 'A slug or former slug of a post.' }) },
      resolve: async (_root, args, { db }) => {
        const slug = knownSlug(args.slug, limits.slug);
        const [post] = slug === undefined ? [] : await db.query(POST_BY_SLUG, [slug]);
        return post ?? null;
      },
    }),
    posts: rootList(t, {
      type: Post,
      list: allPosts,
      scope: 'posts:read',
      description: 'All posts, newest first by default; with `createdAfter`, oldest first.',
      args: {
        limit: limitArgument(t.arg),
        offset: offsetArgument(t.arg),
        createdAfter: t.arg({
          type: 'DateTime',
          description:
            'Only posts created after this time, oldest first. Cannot be combined with `offset`. Paging by time can skip posts of one millisecond.',
        }),
        tag: t.arg.string({ description: 'Only posts with exactly this tag.' }),
        ...listArguments(t.arg),
      },
      checksRows: postListChecksRows(false),
      page: (args) => ({ ...parseListPage(args), ...narrowAllPosts(args, limits) }),
    }),
    postsConnection: rootConnection(t, {
      type: PostConnection,
      list: allPosts,
      scope: 'posts:read',
      description: 'All posts as a connection, newest first by default.',
      args: {
        ...connectionArguments(t.arg),
        tag: t.arg.string({ description: 'Only posts with exactly this tag.' }),
        ...listArguments(t.arg),
      },
      checksRows: postListChecksRows(false),
      page(args) {
        const narrowed = narrowAllPosts(args, limits);
        return { ...connectionPage(args, narrowed.order), ...narrowed };
      },
    }),
  }));
}

export function definePostSubscriptions({ builder }: SchemaToolkit, { Post }: PostTypes): void {
  builder.subscriptionFields((t) => ({
    postCreated: t.field({
      type: Post,
      scope: 'posts:read',
      sql: {
        kind: 'event',
        shows: 'row',
        entity: postEntity,
        filter: () => ({ kinds: [POST_CREATED.name] }),
      },
      description: 'One event for each post once it is committed, in the same order for all subscribers.',
      subscribe: (_root, _args, context) => context.events(),
      resolve: (post: PostRow) => post,
    }),
  }));
}
