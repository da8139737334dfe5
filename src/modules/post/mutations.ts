import { builder } from '../../graphql/builder.ts';
import { type Context, principalOf, unitOfWorkOf } from '../../graphql/context.ts';
import { parseId } from '../../graphql/input.ts';
import { postToChange, postToDelete } from './locks.ts';
import { createPost, deletePost, updatePost } from './service.ts';
import { Post, type PostRow } from './type.ts';

const TITLE = '1 to 200 characters, with something other than white space among them.';
const BODY = '1 to 50,000 characters.';
const TAGS = 'At most 10 tags of 1 to 50 characters each, none twice.';

interface CreateArguments {
  readonly title: string;
  readonly body: string;
  readonly tags?: readonly string[] | null | undefined;
}

function create({ title, body, tags }: CreateArguments, context: Context): Promise<PostRow> {
  return createPost(unitOfWorkOf(context), principalOf(context), { title, body, tags: tags ?? [] });
}

builder.mutationFields((t) => ({
  createPost: t.field({
    type: Post,
    scope: 'posts:write',
    oneStatement: (args, context) => create(args as unknown as CreateArguments, context),
    description:
      'Creates a post of the caller’s and announces it to `postCreated`. Needs the scope `posts:write`.',
    args: {
      title: t.arg.string({ required: true, description: TITLE }),
      body: t.arg.string({ required: true, description: BODY }),
      tags: t.arg.stringList({ description: `${TAGS} None where absent.` }),
    },
    resolve: (_root, args, context) => create(args, context),
  }),
  updatePost: t.field({
    type: Post,
    scope: 'posts:write',
    locks: ({ id }) => [postToChange(parseId(String(id)))],
    description:
      'Changes what is given of a post; absent and null leave it as it is. For its author and for admins. NOT_FOUND where there is no such post. Needs the scope `posts:write`.',
    args: {
      id: t.arg.id({ required: true, description: 'The post’s id.' }),
      title: t.arg.string({ description: TITLE }),
      body: t.arg.string({ description: BODY }),
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
      'Deletes a post and its comments. For its author and for admins. True where it was there, false where it was not (any more). Needs the scope `posts:write`.',
    args: { id: t.arg.id({ required: true, description: 'The post’s id.' }) },
    resolve: (_root, { id }, context) => deletePost(unitOfWorkOf(context), principalOf(context), parseId(id)),
  }),
}));
