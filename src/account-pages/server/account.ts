import type { OwnOperations } from '../../http/pipeline/own-operations.ts';
import type { RequestState } from '../../request/request-state.ts';

/** Instants are texts of the schema's DateTime. */
export interface Session {
  readonly id: string;
  readonly userAgent: string | null;
  readonly createdAt: string;
  readonly lastSeenAt: string;
  readonly current: boolean;
}

export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly scopes: readonly string[];
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  readonly expiresAt: string | null;
}

export interface Grant {
  readonly id: string;
  readonly clientName: string;
  readonly scopes: readonly string[];
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
}

/** An account as its owner sees it. */
export interface Account {
  readonly name: string;
  readonly email: string;
  readonly sessions: readonly Session[];
  readonly apiKeys: readonly ApiKey[];
  /** Undefined where the service has no OAuth. */
  readonly grants?: readonly Grant[];
}

const documentOf = (hasGrants: boolean) => `query AccountPage {
  viewer {
    name
    email
    sessions { id userAgent createdAt lastSeenAt current }
    apiKeys { id name prefix scopes createdAt lastUsedAt expiresAt }
    ${hasGrants ? 'grants: oauthGrants { id clientName scopes createdAt lastUsedAt }' : ''}
  }
}`;

/** Reads the account of a request's session. Throws what the API answers with. */
export function accountReader(operations: OwnOperations) {
  const document = documentOf(operations.offers('User', 'oauthGrants'));
  return async (state: RequestState): Promise<Account> => {
    const { viewer } = await operations.run<{ readonly viewer: Account }>(document, {}, state);
    return viewer;
  };
}
