import { builder } from '../../graphql/builder.ts';
import { principalOf, unitOfWorkOf } from '../../graphql/context.ts';
import { parseId } from '../../graphql/input.ts';
import { postOfComment, postToChange } from '../post/locks.ts';
import { createComment, deleteComment } from './service.ts';
import { Comment } from './type.ts';

builder.mutationFields((t) => ({
  createComment: t.field({
    type: Comment,
    scope: 'comments:write',
    locks: ({ postId }) => [postToChange(parseId(String(postId)))],
    description:
      'Comments on a post. NOT_FOUND where there is no such post. Needs the scope `comments:write`.',
    args: {
      postId: t.arg.id({ required: true, description: 'The id of the post to comment on.' }),
      body: t.arg.string({ required: true, description: '1 to 5,000 characters.' }),
    },
    resolve: (_root, { postId, body }, context) =>
      createComment(unitOfWorkOf(context), principalOf(context), parseId(postId), body),
  }),
  deleteComment: t.boolean({
    scope: 'comments:write',
    locks: ({ id }) => [postOfComment(parseId(String(id)))],
    description:
      'Deletes a comment. For its author, the post’s author and admins. True where it was there, false where it was not (any more). Needs the scope `comments:write`.',
    args: { id: t.arg.id({ required: true, description: 'The comment’s id.' }) },
    resolve: (_root, { id }, context) =>
      deleteComment(unitOfWorkOf(context), principalOf(context), parseId(id)),
  }),
}));
