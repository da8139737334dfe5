import { SCOPE_DEFINITIONS, type ScopeDefinition } from '../modules/scopes.ts';

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
