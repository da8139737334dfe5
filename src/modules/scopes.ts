/** What a scope allows. */
export interface ScopeDefinition {
  /** What it allows, as the consent page tells the person who is asked. */
  readonly allows: string;
  /** The same for an admin, who may do more with it. */
  readonly allowsAdmins?: string;
  readonly adminOnly?: boolean;
  /** Whether callers without credentials have it while ANONYMOUS_READ is on. */
  readonly anonymousRead?: boolean;
}

/** The scopes of the product (contract section 3). To add one, add it here, and name it in a field that needs it. */
export const SCOPE_DEFINITIONS = {
  'posts:read': { allows: 'Read posts, comments, tags and the names of their authors', anonymousRead: true },
  'posts:write': {
    allows: 'Write posts in your name, and change and delete your posts',
    allowsAdmins: 'Write posts in your name, and change and delete anybody’s posts',
  },
  'comments:write': {
    allows: 'Write comments in your name, change and delete your comments, and delete those on your posts',
    allowsAdmins: 'Write comments in your name, and change and delete anybody’s comments',
  },
  'users:read': { allows: 'See your account with your e-mail address, and the list of users' },
  'users:email': { allows: 'See the e-mail addresses of all other users', adminOnly: true },
} as const satisfies Record<string, ScopeDefinition>;
