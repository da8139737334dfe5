import { builder } from '../../graphql/builder.ts';
import { principalOf, unitOfWorkOf } from '../../graphql/context.ts';
import { lengthOf, parseId } from '../../graphql/input.ts';
import { postOfComment, postToChange } from '../post/locks.ts';
import { BODY } from './rules.ts';
import { createComment, deleteComment } from './service.ts';
import { Comment } from './type.ts';

builder.mutationFields((t) => ({
  createComment: t.field({
    type: Comment,
    scope: 'comments:write',
    locks: ({ postId }) => [postToChange(parseId(String(postId)))],
    description: 'Adds a comment to a post. NOT_FOUND if the post does not exist.',
    args: {
      postId: t.arg.id({ required: true, description: 'The id of the post to comment on.' }),
      body: t.arg.string({ required: true, description: `${lengthOf(BODY)}.` }),
    },
    resolve: (_root, { postId, body }, context) =>
      createComment(unitOfWorkOf(context), principalOf(context), parseId(postId), body),
  }),
  deleteComment: t.boolean({
    scope: 'comments:write',
    locks: ({ id }) => [postOfComment(parseId(String(id)))],
    description:
      'Deletes a comment. Only its author, the post’s author and admins may. True if the comment existed, false if it did not.',
    args: { id: t.arg.id({ required: true, description: 'The comment’s id.' }) },
    resolve: (_root, { id }, context) =>
      deleteComment(unitOfWorkOf(context), principalOf(context), parseId(id)),
  }),
}));
