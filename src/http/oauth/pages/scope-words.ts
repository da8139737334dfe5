import type { Role, Scope } from '../../../auth/scopes.ts';

/** What each scope allows, as the person who is asked would say it. */
const WORDS: Record<Scope, string> = {
  'posts:read': 'Read posts, comments, tags and the names of their authors',
  'posts:write': 'Write posts in your name, and change and delete your posts',
  'comments:write': 'Write comments in your name, and delete your comments and those on your posts',
  'users:read': 'See your account and the list of users',
  'users:email': 'See the e-mail addresses of all users',
};

/** An admin's word reaches further, and so does what an admin allows. */
const ADMIN_WORDS: Partial<Record<Scope, string>> = {
  'posts:write': 'Write posts in your name, and change and delete anybody’s posts',
  'comments:write': 'Write comments in your name, and delete anybody’s comments',
};

export function scopeWords(scope: Scope, role: Role): string {
  return (role === 'admin' ? ADMIN_WORDS[scope] : undefined) ?? WORDS[scope];
}
