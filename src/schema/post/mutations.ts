import { type Statement, statement } from '../../database/statement.ts';
import type { Kernel } from '../../engine/builder/kernel.ts';
import { principalOf, unitOfWorkOf } from '../../engine/core/context.ts';
import { lengthOf, parseId } from '../../engine/core/input.ts';
import type { LockKind, NamedRow } from '../../engine/core/mutation-plugin.ts';
import type { Rules } from '../limits.ts';
import { versionArgument } from '../shared-arguments.ts';
import { postQueues } from './queue.ts';
import { createPost, deletePost, insertPost, type NewPost, updatePost } from './service.ts';
import type { PostTypes } from './type.ts';

const COMMENT = 'comment';

/** Sorts the posts, then locks them one by one. A comment's id stands for its post, which never changes. */
const lockPosts = (strength: string): Statement<{ id: string }> =>
  statement(
    'posts_lock',
    `SELECT id FROM posts WHERE id = ANY(ARRAY(
       SELECT unnest($1::uuid[]) UNION SELECT post_id FROM comments WHERE id = ANY($2::uuid[])))
     ORDER BY id ${strength}`,
  );
const TO_CHANGE = lockPosts('FOR NO KEY UPDATE');
const TO_DELETE = lockPosts('FOR UPDATE');

/**
 * Everything below a post is written under the lock of the post: its columns, tags, comments and comment
 * count. All posts get the strongest lock that any of them needs, so no lock is upgraded later.
 */
const POSTS: LockKind = {
  rank: 1,
  async take(work, rows) {
    const idsOf = (kind: string | undefined) =>
      rows.flatMap(({ id, below }) => (id === undefined || below !== kind ? [] : [id]));
    const values = [idsOf(undefined), idsOf(COMMENT)] as const;
    const lock = rows.some(({ deleted }) => deleted) ? TO_DELETE : TO_CHANGE;
    await work.queryInOrder(postQueues(...values), { statement: lock, values });
  },
};

/** The lock of a post that will be changed or get a comment. */
export const postToChange = (id: string | undefined): NamedRow => ({ kind: POSTS, id });
const postToDelete = (id: string | undefined): NamedRow => ({ kind: POSTS, id, deleted: true });
/** The lock of the post that a comment is on. */
export const postOfComment = (id: string | undefined): NamedRow => ({ kind: POSTS, id, below: COMMENT });

/** From arguments that graphql-js has coerced, which a one-statement mutation gets without their types. */
const newPost = ({ title, body, tags }: Readonly<Record<string, unknown>>): NewPost => ({
  title: String(title),
  body: String(body),
  tags: Array.isArray(tags) ? tags.map(String) : [],
});

export function definePostMutations({ builder }: Kernel, { Post }: PostTypes, rules: Rules['post']): void {
  const ofTags = `At most ${rules.maxTags} tags of ${lengthOf(rules.tag)} each, without duplicates.`;
  builder.mutationFields((t) => ({
    createPost: t.field({
      type: Post,
      scope: 'posts:write',
      oneStatement: (args, context) => insertPost(principalOf(context), newPost(args), rules),
      description: 'Creates a post by the caller and publishes it to `postCreated`.',
      args: {
        title: t.arg.string({
          required: true,
          description: `${lengthOf(rules.title)}, with a visible character.`,
        }),
        body: t.arg.string({ required: true, description: `${lengthOf(rules.body)}.` }),
        tags: t.arg.stringList({ description: `${ofTags} None where absent.` }),
      },
      resolve: (_root, args, context) =>
        createPost(unitOfWorkOf(context), principalOf(context), newPost(args), rules),
    }),
    updatePost: t.field({
      type: Post,
      scope: 'posts:write',
      locks: ({ id }) => [postToChange(parseId(String(id)))],
      description:
        'Changes the given fields of a post; absent and null fields keep their value. Where nothing becomes different, nothing is changed. Only its author and admins may. NOT_FOUND if the post does not exist.',
      args: {
        id: t.arg.id({ required: true, description: 'The post’s id.' }),
        title: t.arg.string({ description: `${lengthOf(rules.title)}, with a visible character.` }),
        body: t.arg.string({ description: `${lengthOf(rules.body)}.` }),
        tags: t.arg.stringList({ description: `${ofTags} They replace the present ones.` }),
        ifVersion: versionArgument(t.arg, 'post'),
      },
      resolve: (_root, { id, ...changes }, context) =>
        updatePost(unitOfWorkOf(context), principalOf(context), parseId(id), changes, rules),
    }),
    deletePost: t.boolean({
      scope: 'posts:write',
      locks: ({ id }) => [postToDelete(parseId(String(id)))],
      description:
        'Deletes a post and its comments. Only its author and admins may. True if the post existed, false if it did not.',
      args: {
        id: t.arg.id({ required: true, description: 'The post’s id.' }),
        ifVersion: versionArgument(t.arg, 'post'),
      },
      resolve: (_root, { id, ifVersion }, context) =>
        deletePost(unitOfWorkOf(context), principalOf(context), parseId(id), ifVersion),
    }),
  }));
}
