/** What a credential allows (contract section 3). */
export const SCOPES = ['posts:read', 'posts:write', 'comments:write', 'users:read', 'users:email'] as const;

export type Scope = (typeof SCOPES)[number];
export type Role = 'member' | 'admin';

const ADMIN_ONLY: ReadonlySet<Scope> = new Set<Scope>(['users:email']);

/** Every scope that an account of the role can hold. */
export function scopesOfRole(role: Role): readonly Scope[] {
  return role === 'admin' ? SCOPES : SCOPES.filter((scope) => !ADMIN_ONLY.has(scope));
}

export function isScope(value: string): value is Scope {
  return (SCOPES as readonly string[]).includes(value);
}

/** The granted scopes as far as the role can hold them: a credential never has more than its account. */
export function effectiveScopes(granted: readonly string[], role: Role): ReadonlySet<Scope> {
  const held = new Set<string>(scopesOfRole(role));
  return new Set(granted.filter((scope): scope is Scope => isScope(scope) && held.has(scope)));
}
