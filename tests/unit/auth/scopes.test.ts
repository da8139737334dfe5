import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { effectiveScopes, isScope, SCOPES, scopesOfRole } from '../../../src/auth/scopes.ts';

const granted = fc.array(fc.oneof(fc.constantFrom(...SCOPES), fc.string()));
const role = fc.constantFrom('member' as const, 'admin' as const);

describe('scopes', () => {
  it('are all for admins; users:email is for them alone', () => {
    expect(scopesOfRole('admin')).toEqual(SCOPES);
    expect(scopesOfRole('member')).toEqual(SCOPES.filter((scope) => scope !== 'users:email'));
  });

  it('of a credential are those granted, as far as its account can hold them', () => {
    fc.assert(
      fc.property(granted, role, (names, of) => {
        const effective = effectiveScopes(names, of);
        for (const scope of SCOPES)
          expect(effective.has(scope)).toBe(names.includes(scope) && scopesOfRole(of).includes(scope));
        expect(effective.size).toBeLessThanOrEqual(scopesOfRole(of).length);
      }),
    );
  });

  it('are known by their exact name', () => {
    for (const scope of SCOPES) expect(isScope(scope)).toBe(true);
    for (const name of ['', 'posts', 'posts:*', 'Posts:read', 'posts:read ', '__proto__', 'constructor'])
      expect(isScope(name)).toBe(false);
  });
});
