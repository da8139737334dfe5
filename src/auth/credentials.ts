import type { Clock } from '../platform/clock.ts';
import type { Config } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import type { Logger } from '../platform/log.ts';
import { apiKeyResolver } from './api-key/resolver.ts';
import { type CredentialResolver, stillValid } from './authenticate.ts';
import { type KeySource, publicKeys, remoteKeys, secretKey } from './jwt/keys.ts';
import { jwtResolver } from './jwt/resolver.ts';
import type { Principal } from './principal.ts';
import { sessionResolver } from './session/resolver.ts';

/** Everything that a request can prove who it is with. */
export interface Credentials {
  readonly resolvers: readonly CredentialResolver[];
  /** Whether credentials that were good at the start of something long still are. Throws DatabaseError. */
  stillValid(principal: Principal): Promise<boolean>;
}

export interface CredentialsOptions {
  readonly config: Config;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
}

function keySources({ secret, publicKey, jwksUrl }: Config['jwt']): KeySource[] {
  return [
    ...(secret === undefined ? [] : [secretKey(secret)]),
    ...(publicKey === undefined ? [] : [publicKeys(publicKey)]),
    ...(jwksUrl === undefined ? [] : [remoteKeys(jwksUrl)]),
  ];
}

/** The kinds of credentials that the settings allow. */
export function createCredentials({ config, database, clock, log }: CredentialsOptions): Credentials {
  const keys = keySources(config.jwt);
  const { issuer, audience } = config.jwt;
  const resolvers = [
    apiKeyResolver({ database, clock, log }),
    sessionResolver({ database, clock, log }),
    ...(keys.length === 0 ? [] : [jwtResolver({ database, clock, keys, issuer, audience })]),
  ];
  return {
    resolvers,
    stillValid: (principal) => stillValid(principal, resolvers, clock.now()),
  };
}
