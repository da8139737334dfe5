import { type Caller, isAuthenticated, userClientId } from '../auth/principal.ts';
import { ApiError, unauthenticated } from '../graphql/errors.ts';
import { addressKey } from './client-address.ts';

/** Who sends a request, as far as the service knows. */
export interface ClientIdentity {
  readonly caller: Caller | undefined;
  readonly clientAddress: string;
}

/** The client behind the credentials; undefined without any. */
export function clientIdOf({ caller }: Pick<ClientIdentity, 'caller'>): string | undefined {
  return isAuthenticated(caller) ? caller.clientId : undefined;
}

/** The client that a request counts for: the address, without credentials. Never a value the client chooses. */
export function clientOf(state: ClientIdentity): string {
  return clientIdOf(state) ?? `address:${addressKey(state.clientAddress)}`;
}

/**
 * What reports for operators call the client: the id of its key or application, or else the kind of its credentials. Users
 * are not told apart.
 */
export function reportedClient(caller: Caller | undefined): {
  readonly client: string;
  readonly kind: string;
} {
  if (!isAuthenticated(caller)) return { client: 'anonymous', kind: 'anonymous' };
  const { kind, userId, clientId } = caller;
  return {
    client: clientId === userClientId(userId) ? kind : clientId.slice(clientId.lastIndexOf(':') + 1),
    kind,
  };
}

/** The account that a request also counts for; undefined without credentials. */
export function accountOf({ caller }: Pick<ClientIdentity, 'caller'>): string | undefined {
  return isAuthenticated(caller) ? caller.userId : undefined;
}

/**
 * Who the memory of a response counts for: the account, whichever of its credentials is used, or the address.
 */
export function holderOf(state: ClientIdentity): string {
  return accountOf(state) ?? clientOf(state);
}

/** Whether the caller can do more than introspect the schema. */
export function canExecute(caller: Caller | undefined): boolean {
  return isAuthenticated(caller) || (caller?.scopes.size ?? 0) > 0;
}

/** Whether the credentials were checked and are bad. */
export function credentialsFailed({
  authenticationError,
}: {
  readonly authenticationError: unknown;
}): boolean {
  return authenticationError instanceof ApiError && authenticationError.code === 'UNAUTHENTICATED';
}

/**
 * Rejects a request that has no credentials and needs them (RFC 6750 section 3: without an error code).
 * @param subject what needs them, if not the whole request
 */
export function credentialsMissing(subject?: string) {
  const message = subject === undefined ? 'Credentials are required' : `${subject} requires credentials`;
  return unauthenticated(`${message}, for example an API key as "Authorization: Bearer <key>".`, {
    'www-authenticate': 'Bearer',
  });
}
