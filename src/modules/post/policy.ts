import type { Principal } from '../../auth/principal.ts';

/** Changing and deleting a post is for its author and for admins (contract section 3). */
export function mayChangePost(principal: Principal, post: { readonly authorId: string }): boolean {
  return principal.userId === post.authorId || principal.role === 'admin';
}
