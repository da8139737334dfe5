export type Role = 'member' | 'admin';

interface ScopeDefinition {
  /** What it allows, as the consent page tells the person who is asked. */
  readonly allows: string;
  /** The same for an admin, who may do more with it. */
  readonly allowsAdmins?: string;
  readonly adminOnly?: boolean;
}

/** What a credential allows (contract section 3). */
const DEFINITIONS = {
  'posts:read': { allows: 'Read posts, comments, tags and the names of their authors' },
  'posts:write': {
    allows: 'Write posts in your name, and change and delete your posts',
    allowsAdmins: 'Write posts in your name, and change and delete anybody’s posts',
  },
  'comments:write': {
    allows: 'Write comments in your name, and delete your comments and those on your posts',
    allowsAdmins: 'Write comments in your name, and delete anybody’s comments',
  },
  'users:read': { allows: 'See your account and the list of users' },
  'users:email': { allows: 'See the e-mail addresses of all users', adminOnly: true },
} as const satisfies Record<string, ScopeDefinition>;

export type Scope = keyof typeof DEFINITIONS;

export const SCOPES = Object.keys(DEFINITIONS) as readonly Scope[];

const definitionOf = (scope: Scope): ScopeDefinition => DEFINITIONS[scope];

/** What a scope allows an account of the role, in a sentence for a person. */
export function scopeWords(scope: Scope, role: Role): string {
  const { allows, allowsAdmins = allows } = definitionOf(scope);
  return role === 'admin' ? allowsAdmins : allows;
}

/** Every scope that an account with the role can hold. */
export function scopesOfRole(role: Role): readonly Scope[] {
  return role === 'admin' ? SCOPES : SCOPES.filter((scope) => definitionOf(scope).adminOnly !== true);
}

export function isScope(value: string): value is Scope {
  return (SCOPES as readonly string[]).includes(value);
}

/** The granted scopes that the role can hold: a credential never has more than its account. */
export function effectiveScopes(granted: readonly string[], role: Role): ReadonlySet<Scope> {
  const held = new Set<string>(scopesOfRole(role));
  return new Set(granted.filter((scope): scope is Scope => isScope(scope) && held.has(scope)));
}
