import { type Statement, statement } from '../../database/statement.ts';
import type { SchemaToolkit } from '../../engine/builder/schema-toolkit.ts';
import { principalOf, unitOfWorkOf } from '../../engine/core/context.ts';
import { lengthOf, parseId } from '../../engine/core/input.ts';
import type { LockKind, NamedRow } from '../../engine/core/mutation-plugin.ts';
import type { ContentLimits } from '../content-limits.ts';
import { versionArgument } from '../shared-arguments.ts';
import { postQueues } from './queue.ts';
import { createPost, deletePost, insertPost, type NewPost, updatePost } from './service.ts';
import type { PostTypes } from './type.ts';

const COMMENT = 'comment';

/** Locks posts in the order of their ids. A comment's id stands for its post, which never changes. */
const lockPosts = (strength: string): Statement<{ id: string }> =>
  statement(
    'posts_lock',
    `SELECT id FROM posts WHERE id = ANY(ARRAY(
       SELECT unnest($1::uuid[]) UNION SELECT post_id FROM comments WHERE id = ANY($2::uuid[])))
     ORDER BY id ${strength}`,
  );
const TO_CHANGE = lockPosts('FOR NO KEY UPDATE');
const TO_REPLACE = lockPosts('FOR UPDATE');

/**
 * The lock of a post protects its columns, tags, comments and comment count. All posts get the strongest lock
 * that any of them needs, so that no lock is upgraded later.
 */
const POSTS: LockKind = {
  rank: 1,
  async take(work, rows) {
    const idsOf = (kind: string | undefined) =>
      rows.flatMap(({ id, below }) => (id === undefined || below !== kind ? [] : [id]));
    const values = [idsOf(undefined), idsOf(COMMENT)] as const;
    const lock = rows.some(({ exclusive }) => exclusive) ? TO_REPLACE : TO_CHANGE;
    await work.queryInOrder(postQueues(...values), { statement: lock, values });
  },
};

export const postToChange = (id: string | undefined): NamedRow => ({ kind: POSTS, id });
/** For a deletion, or a change of the slug. */
const postToReplace = (id: string | undefined): NamedRow => ({ kind: POSTS, id, exclusive: true });
export const postOfComment = (id: string | undefined): NamedRow => ({ kind: POSTS, id, below: COMMENT });

/** graphql-js has coerced these arguments, but a single-statement mutation gets them without types. */
const newPost = ({ title, body, tags, slug }: Readonly<Record<string, unknown>>): NewPost => ({
  title: String(title),
  body: String(body),
  tags: Array.isArray(tags) ? tags.map(String) : [],
  slug: slug == null ? null : String(slug),
});

export function definePostMutations(
  { builder }: SchemaToolkit,
  { Post }: PostTypes,
  limits: ContentLimits['post'],
): void {
  const ofTags = `At most ${limits.maxTags} tags of ${lengthOf(limits.tag)} each, without duplicates.`;
  const ofSlug = `${lengthOf(limits.slug)} of \`a-z\`, \`0-9\` and \`-\`, with no hyphen at either end.`;
  builder.mutationFields((t) => ({
    createPost: t.field({
      type: Post,
      scope: 'posts:write',
      singleStatement: (args, context, shown) =>
        insertPost(principalOf(context), newPost(args), limits, shown.has('slug')),
      description: 'Creates a post by the caller and publishes it to `postCreated`.',
      args: {
        title: t.arg.string({
          required: true,
          description: `${lengthOf(limits.title)}, with a visible character.`,
        }),
        body: t.arg.string({ required: true, description: `${lengthOf(limits.body)}.` }),
        tags: t.arg.stringList({ description: `${ofTags} No tags if absent.` }),
        slug: t.arg.string({
          description: `${ofSlug} From the title if absent or null. BAD_USER_INPUT if another post has the slug.`,
        }),
      },
      resolve: (_root, args, context) =>
        createPost(unitOfWorkOf(context), principalOf(context), newPost(args), limits),
    }),
    updatePost: t.field({
      type: Post,
      scope: 'posts:write',
      locks: ({ id, slug }) => [(slug == null ? postToChange : postToReplace)(parseId(String(id)))],
      description:
        'Changes the given fields of a post. Absent and null fields keep their value, and equal values change nothing. Only its author and admins can. NOT_FOUND if the post does not exist.',
      args: {
        id: t.arg.id({ required: true, description: 'The post’s id.' }),
        title: t.arg.string({ description: `${lengthOf(limits.title)}, with a visible character.` }),
        body: t.arg.string({ description: `${lengthOf(limits.body)}.` }),
        tags: t.arg.stringList({ description: `${ofTags} Replaces all existing tags.` }),
        slug: t.arg.string({
          description: `${ofSlug} The previous slug still finds the post. BAD_USER_INPUT if another post has the slug.`,
        }),
        ifVersion: versionArgument(t.arg),
      },
      resolve: (_root, { id, ...changes }, context) =>
        updatePost(unitOfWorkOf(context), principalOf(context), id, changes, limits),
    }),
    deletePost: t.boolean({
      scope: 'posts:write',
      locks: ({ id }) => [postToReplace(parseId(String(id)))],
      description:
        'Deletes a post and its comments. Only its author and admins can. True if the post existed, false if it did not.',
      args: {
        id: t.arg.id({ required: true, description: 'The post’s id.' }),
        ifVersion: versionArgument(t.arg),
      },
      resolve: (_root, { id, ifVersion }, context) =>
        deletePost(unitOfWorkOf(context), principalOf(context), parseId(id), ifVersion),
    }),
  }));
}
