import { builder } from '../../graphql/builder.ts';
import { principalOf, unitOfWorkOf } from '../../graphql/context.ts';
import { lengthOf, parseId } from '../../graphql/input.ts';
import { postToChange, postToDelete } from './locks.ts';
import { BODY, MAX_TAGS, TAG, TITLE } from './rules.ts';
import { createPost, deletePost, insertPost, type NewPost, updatePost } from './service.ts';
import { Post } from './type.ts';

const TAGS = `At most ${MAX_TAGS} tags of ${lengthOf(TAG)} each, without duplicates.`;

/** From arguments that graphql-js has coerced, which a one-statement mutation gets without their types. */
const newPost = ({ title, body, tags }: Readonly<Record<string, unknown>>): NewPost => ({
  title: String(title),
  body: String(body),
  tags: Array.isArray(tags) ? tags.map(String) : [],
});

builder.mutationFields((t) => ({
  createPost: t.field({
    type: Post,
    scope: 'posts:write',
    oneStatement: (args, caller) => insertPost(principalOf(caller), newPost(args)),
    description: 'Creates a post by the caller and publishes it to `postCreated`.',
    args: {
      title: t.arg.string({
        required: true,
        description: `${lengthOf(TITLE)}, not all of them white space.`,
      }),
      body: t.arg.string({ required: true, description: `${lengthOf(BODY)}.` }),
      tags: t.arg.stringList({ description: `${TAGS} None where absent.` }),
    },
    resolve: (_root, args, context) => createPost(unitOfWorkOf(context), principalOf(context), newPost(args)),
  }),
  updatePost: t.field({
    type: Post,
    scope: 'posts:write',
    locks: ({ id }) => [postToChange(parseId(String(id)))],
    description:
      'Changes the given fields of a post; absent and null fields keep their value. Only its author and admins may. NOT_FOUND if the post does not exist.',
    args: {
      id: t.arg.id({ required: true, description: 'The post’s id.' }),
      title: t.arg.string({ description: `${lengthOf(TITLE)}, not all of them white space.` }),
      body: t.arg.string({ description: `${lengthOf(BODY)}.` }),
      tags: t.arg.stringList({ description: `${TAGS} They replace the present ones.` }),
    },
    resolve: (_root, { id, title, body, tags }, context) =>
      updatePost(unitOfWorkOf(context), principalOf(context), parseId(id), {
        title: title ?? undefined,
        body: body ?? undefined,
        tags: tags ?? undefined,
      }),
  }),
  deletePost: t.boolean({
    scope: 'posts:write',
    locks: ({ id }) => [postToDelete(parseId(String(id)))],
    description:
      'Deletes a post and its comments. Only its author and admins may. True if the post existed, false if it did not.',
    args: { id: t.arg.id({ required: true, description: 'The post’s id.' }) },
    resolve: (_root, { id }, context) => deletePost(unitOfWorkOf(context), principalOf(context), parseId(id)),
  }),
}));
