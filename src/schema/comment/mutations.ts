import type { Kernel } from '../../engine/builder/kernel.ts';
import { principalOf, unitOfWorkOf } from '../../engine/core/context.ts';
import { lengthOf, parseId } from '../../engine/core/input.ts';
import type { Rules } from '../limits.ts';
import { postOfComment, postToChange } from '../post/mutations.ts';
import { versionArgument } from '../shared-arguments.ts';
import { createComment, deleteComment, updateComment } from './service.ts';
import type { CommentTypes } from './type.ts';

export function defineCommentMutations(
  { builder }: Kernel,
  { Comment }: CommentTypes,
  rules: Rules['comment'],
): void {
  builder.mutationFields((t) => ({
    createComment: t.field({
      type: Comment,
      scope: 'comments:write',
      locks: ({ postId }) => [postToChange(parseId(String(postId)))],
      description: 'Adds a comment to a post. NOT_FOUND if the post does not exist.',
      args: {
        postId: t.arg.id({ required: true, description: 'The id of the post to comment on.' }),
        body: t.arg.string({ required: true, description: `${lengthOf(rules.body)}.` }),
      },
      resolve: (_root, { postId, body }, context) =>
        createComment(unitOfWorkOf(context), principalOf(context), parseId(postId), body, rules),
    }),
    updateComment: t.field({
      type: Comment,
      scope: 'comments:write',
      locks: ({ id }) => [postOfComment(parseId(String(id)))],
      description:
        'Changes the text of a comment. Where it is the same, nothing is changed. Only the comment’s author and admins may. NOT_FOUND if the comment does not exist.',
      args: {
        id: t.arg.id({ required: true, description: 'The comment’s id.' }),
        body: t.arg.string({ required: true, description: `${lengthOf(rules.body)}.` }),
        ifVersion: versionArgument(t.arg, 'comment'),
      },
      resolve: (_root, { id, ...change }, context) =>
        updateComment(unitOfWorkOf(context), principalOf(context), parseId(id), change, rules),
    }),
    deleteComment: t.boolean({
      scope: 'comments:write',
      locks: ({ id }) => [postOfComment(parseId(String(id)))],
      description:
        'Deletes a comment. Only its author, the post’s author and admins may. True if the comment existed, false if it did not.',
      args: {
        id: t.arg.id({ required: true, description: 'The comment’s id.' }),
        ifVersion: versionArgument(t.arg, 'comment'),
      },
      resolve: (_root, { id, ifVersion }, context) =>
        deleteComment(unitOfWorkOf(context), principalOf(context), parseId(id), ifVersion),
    }),
  }));
}
