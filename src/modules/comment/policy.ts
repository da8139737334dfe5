import type { Principal } from '../../auth/principal.ts';

/** Deleting a comment is for its author, for the author of the post, and for admins (contract section 3). */
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
