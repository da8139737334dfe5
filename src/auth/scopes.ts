/** What a scope allows. */
interface ScopeDefinition {
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
    allowsAdmins: 'Write posts in your name, and change and delete posts of all users',
  },
  'comments:write': {
    allows: 'Write comments in your name, change and delete your comments, and delete those on your posts',
    allowsAdmins: 'Write comments in your name, and change and delete comments of all users',
  },
  'users:read': { allows: 'See your account with your email address, and the list of users' },
  'users:email': { allows: 'See the email addresses of all other users', adminOnly: true },
} as const satisfies Record<string, ScopeDefinition>;

export type Role = 'member' | 'admin';

/** What a credential allows (contract section 3): one of those that the modules declare. */
export type Scope = keyof typeof SCOPE_DEFINITIONS;

export const SCOPES = Object.keys(SCOPE_DEFINITIONS) as readonly Scope[];

const definitionOf = (scope: Scope): ScopeDefinition => SCOPE_DEFINITIONS[scope];

/** What a scope allows an account of the role, in a sentence for a person. */
export function scopeWords(scope: Scope, role: Role): string {
  const { allows, allowsAdmins = allows } = definitionOf(scope);
  return role === 'admin' ? allowsAdmins : allows;
}

/** Every scope that an account with the role can hold. */
export function scopesOfRole(role: Role): readonly Scope[] {
  return role === 'admin' ? SCOPES : SCOPES.filter((scope) => definitionOf(scope).adminOnly !== true);
}

/** The scopes of callers without credentials while ANONYMOUS_READ is on. */
export const ANONYMOUS_SCOPES = SCOPES.filter((scope) => definitionOf(scope).anonymousRead === true);

export function isScope(value: string): value is Scope {
  return (SCOPES as readonly string[]).includes(value);
}

/** The granted scopes that the role can hold: a credential never has more than its account. */
export function effectiveScopes(granted: readonly string[], role: Role): ReadonlySet<Scope> {
  const held = new Set<string>(scopesOfRole(role));
  return new Set(granted.filter((scope): scope is Scope => isScope(scope) && held.has(scope)));
}
