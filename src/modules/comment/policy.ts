import type { Principal } from '../../auth/principal.ts';

/** Only its author, the post's author and admins may delete a comment (contract section 3). */
export function mayDeleteComment(
  principal: Principal,
  comment: { readonly authorId: string; readonly postAuthorId: string },
): boolean {
  return (
    principal.userId === comment.authorId ||
    principal.userId === comment.postAuthorId ||
    principal.role === 'admin'
  );
}
