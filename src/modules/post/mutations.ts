import { principalOf, unitOfWorkOf } from '../../graphql/context.ts';
import { lengthOf, parseId } from '../../graphql/input.ts';
import type { Kernel } from '../../graphql/kernel.ts';
import type { Rules } from '../rules.ts';
import { versionArgument } from '../version.ts';
import { postToChange, postToDelete } from './locks.ts';
import { createPost, deletePost, insertPost, type NewPost, updatePost } from './service.ts';
import type { PostTypes } from './type.ts';

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
      resolve: (_root, { id, title, body, tags, ifVersion }, context) =>
        updatePost(
          unitOfWorkOf(context),
          principalOf(context),
          parseId(id),
          {
            title: title ?? undefined,
            body: body ?? undefined,
            tags: tags ?? undefined,
            ifVersion: ifVersion ?? undefined,
          },
          rules,
        ),
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
        deletePost(unitOfWorkOf(context), principalOf(context), parseId(id), ifVersion ?? undefined),
    }),
  }));
}
