import { PASSWORD } from '../../auth/account/store.ts';
import type { Principal } from '../../auth/principal.ts';
import { isScope, type Scope, scopesOfRole } from '../../auth/scopes.ts';
import { badInput, forbidden } from '../../graphql/errors.ts';
import { checkText } from '../../graphql/input.ts';

export const KEY_NAME = { min: 1, max: 100, visible: true };

export const checkKeyName = (name: string): string => checkText('name', name, KEY_NAME);
export const checkNewPassword = (password: string): string => checkText('newPassword', password, PASSWORD);

/** The scopes of a new key: known, without duplicates, and within the account's role (contract section 3). */
export function checkScopes(scopes: readonly string[], { role }: Principal): readonly Scope[] {
  if (scopes.length === 0) throw badInput('scopes', 'must contain at least one scope.');
  const unknown = scopes.find((scope) => !isScope(scope));
  if (unknown !== undefined)
    throw badInput('scopes', `must contain only known scopes: ${scopesOfRole(role).join(', ')}.`);
  if (new Set(scopes).size < scopes.length) throw badInput('scopes', 'must not contain duplicates.');
  const held = scopesOfRole(role);
  const known = scopes.filter(isScope);
  const beyond = known.find((scope) => !held.includes(scope));
  if (beyond !== undefined)
    throw forbidden(`The account cannot hold the scope "${beyond}", so neither can its key.`);
  return known;
}
