interface ScopeDefinition {
  /** The consent page shows this phrase to users. */
  readonly allows: string;
  /** The phrase for admins, if the scope allows them more. */
  readonly allowsAdmins?: string;
  readonly adminOnly?: boolean;
  /** True if callers without credentials have the scope while ANONYMOUS_READ is on. */
  readonly anonymousRead?: boolean;
}

/** All scopes of the product. A new scope needs an entry here and a field that requires it. */
export const SCOPE_DEFINITIONS = {
  'posts:read': {
    allows: 'Read posts, comments, tags and the profiles of their authors',
    anonymousRead: true,
  },
  'posts:write': {
    allows: 'Write posts in your name, and change and delete your posts',
    allowsAdmins: 'Write posts in your name, and change and delete posts of all users',
  },
  'comments:write': {
    allows: 'Write comments in your name, change and delete your comments, and delete those on your posts',
    allowsAdmins: 'Write comments in your name, and change and delete comments of all users',
  },
  'drafts:read': { allows: 'Read your drafts' },
  'drafts:write': { allows: 'Write drafts of posts, and change and delete your drafts' },
  'users:read': { allows: 'See your account with your email address, and the list of users' },
  'users:email': { allows: 'See the email addresses of all other users', adminOnly: true },
} as const satisfies Record<string, ScopeDefinition>;

/**
 * Scopes of OpenID Connect (OpenID Connect Core §5.4). They show the user to an OAuth client. No field requires them, and
 * no other credential has them.
 */
const IDENTITY_SCOPE_DEFINITIONS = {
  openid: { allows: 'Recognise you by the id of your account' },
  profile: { allows: 'See your name, handle and avatar' },
  email: { allows: 'See your email address, and if it is verified' },
} as const satisfies Record<string, ScopeDefinition>;

export type Role = 'member' | 'admin';

export type Scope = keyof typeof SCOPE_DEFINITIONS;

export type IdentityScope = keyof typeof IDENTITY_SCOPE_DEFINITIONS;

/** A scope that an OAuth client can have. */
export type ClientScope = Scope | IdentityScope;

export const SCOPES = Object.keys(SCOPE_DEFINITIONS) as readonly Scope[];

export const IDENTITY_SCOPES = Object.keys(IDENTITY_SCOPE_DEFINITIONS) as readonly IdentityScope[];

const definitionOf = (scope: Scope): ScopeDefinition => SCOPE_DEFINITIONS[scope];

const ALL_DEFINITIONS = new Map<string, ScopeDefinition>(
  Object.entries({ ...SCOPE_DEFINITIONS, ...IDENTITY_SCOPE_DEFINITIONS }),
);

/** Describes a scope in a phrase for users. A scope that the product has removed allows nothing. */
export function scopeWords(scope: string, role: Role): string {
  const { allows, allowsAdmins = allows } = ALL_DEFINITIONS.get(scope) ?? { allows: scope };
  return role === 'admin' ? allowsAdmins : allows;
}

export function scopesOfRole(role: Role): readonly Scope[] {
  return role === 'admin' ? SCOPES : SCOPES.filter((scope) => definitionOf(scope).adminOnly !== true);
}

/** Callers without credentials have these scopes while ANONYMOUS_READ is on. */
export const ANONYMOUS_SCOPES = SCOPES.filter((scope) => definitionOf(scope).anonymousRead === true);

export function isScope(value: string): value is Scope {
  return (SCOPES as readonly string[]).includes(value);
}

export function isIdentityScope(value: string): value is IdentityScope {
  return (IDENTITY_SCOPES as readonly string[]).includes(value);
}

/** A credential never has more scopes than its account. */
export function effectiveScopes(granted: readonly string[], role: Role): ReadonlySet<Scope> {
  const held = new Set<string>(scopesOfRole(role));
  return new Set(granted.filter((scope): scope is Scope => isScope(scope) && held.has(scope)));
}
