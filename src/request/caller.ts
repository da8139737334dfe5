import { type Caller, isAuthenticated } from '../auth/principal.ts';
import { unauthenticated } from '../graphql/errors.ts';
import { addressKey } from './client-address.ts';
import type { RequestState } from './request-state.ts';

/** Whom a request counts for: the caller or, without one, the address. Never what a client chooses. */
export function clientOf({ caller, clientAddress }: RequestState): string {
  return caller !== undefined && isAuthenticated(caller)
    ? caller.clientId
    : `address:${addressKey(clientAddress)}`;
}

/** The account that a request counts for beside its client; undefined without credentials. */
export function accountOf({ caller }: RequestState): string | undefined {
  return caller !== undefined && isAuthenticated(caller) ? caller.userId : undefined;
}

/** Whose memory an answer takes: the account's, whichever of its credentials ask, or the address'. */
export function holderOf(state: RequestState): string {
  return accountOf(state) ?? clientOf(state);
}

/** Whether the caller can do anything but look at the schema. */
export function canExecute(caller: Caller | undefined): boolean {
  return caller !== undefined && (caller.kind !== 'anonymous' || caller.scopes.size > 0);
}

/** The refusal of an operation that needs credentials and has none (RFC 6750 section 3: no error code then). */
export function credentialsMissing() {
  return unauthenticated(
    'This needs credentials: an API key as "Authorization: Bearer <key>", for example.',
    { 'www-authenticate': 'Bearer' },
  );
}
