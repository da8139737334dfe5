import { type Asked, atRoot, Walk } from './walk.ts';

/** An operation can select each of these fields only once. */
const ONCE = new Set(['changePassword', 'createApiKey', 'revokeEverything', 'inviteUser', 'createResetLink']);

/** True if the service must reject a mutation because it selects one of these fields under two response names. */
export function hasRepeatedField(asked: Asked): boolean {
  if (asked.operation.operation !== 'mutation') return false;
  const responseNames = new Map<string, string>();
  for (const { field, left } of new Walk(asked).side(asked.operation.selectionSet, atRoot(asked))) {
    const name = field.name.value;
    if (left || !ONCE.has(name)) continue;
    const responseName = (field.alias ?? field.name).value;
    if ((responseNames.get(name) ?? responseName) !== responseName) return true;
    responseNames.set(name, responseName);
  }
  return false;
}
