import type { Principal } from '../../auth/principal.ts';

/** Only its author and admins may change or delete a post (contract section 3). */
export function mayChangePost(principal: Principal, post: { readonly authorId: string }): boolean {
  return principal.userId === post.authorId || principal.role === 'admin';
}
