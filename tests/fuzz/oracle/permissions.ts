import type { Context } from './schema.ts';
import { type Fault, Wrong } from './wrong.ts';

export const FORBIDDEN: Fault = { code: 'FORBIDDEN' };
export const NOT_FOUND: Fault = { code: 'NOT_FOUND' };

type Who = Pick<Context, 'caller'>;

/** Contract section 3, the table of permissions. */
export function needScope({ caller }: Who, scope: string): void {
  if (caller?.scopes.has(scope) !== true) throw new Wrong([FORBIDDEN]);
}

/** What is one's own business, and in a session only. */
export function needSession({ caller }: Who, owner = caller?.userId): string {
  if (caller?.sessionId === undefined || owner !== caller.userId) throw new Wrong([FORBIDDEN]);
  return caller.userId;
}

/** Whether the caller is one of the accounts, or an admin. */
export const mayChange = ({ caller }: Who, ...owners: readonly string[]): boolean =>
  caller !== undefined && (owners.includes(caller.userId) || caller.role === 'admin');

/** One's own e-mail, or any with the scope, which only admins can hold. */
export function needEmail(who: Who, owner: string): void {
  if (who.caller?.userId === owner) return;
  if (who.caller?.role !== 'admin') throw new Wrong([FORBIDDEN]);
  needScope(who, 'users:email');
}
