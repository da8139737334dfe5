import type { Clock } from '../platform/clock.ts';
import type { Config } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import type { Logger } from '../platform/log.ts';
import { apiKeyResolver } from './api-key/resolver.ts';
import { type CredentialResolver, type Recognizer, renew } from './authenticate.ts';
import { type KeySource, publicKeys, remoteKeys, secretKey } from './jwt/keys.ts';
import { jwtResolver } from './jwt/resolver.ts';
import type { OwnTokens } from './oauth/access-token.ts';
import { oauthResolver } from './oauth/resolver.ts';
import type { Principal } from './principal.ts';
import { sessionResolver } from './session/resolver.ts';
import { createStreamTokens } from './stream-token/resolver.ts';

/** Everything that a request can authenticate with. */
export interface Credentials {
  readonly recognizers: readonly Recognizer[];
  /** The resolver for sessions. */
  readonly sessions: CredentialResolver;
  /**
   * The principal of a long operation as it is now. Undefined if the credentials that it started with have ended.
   * Throws DatabaseError.
   */
  renew(principal: Principal): Promise<Principal | undefined>;
}

export interface CredentialsOptions {
  readonly config: Config;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  /** The access tokens that the service itself issues. */
  readonly ownTokens: OwnTokens;
}

function keySources({ secret, publicKey, jwksUrl }: Config['jwt']): KeySource[] {
  return [
    ...(secret === undefined ? [] : [secretKey(secret)]),
    ...(publicKey === undefined ? [] : [publicKeys(publicKey)]),
    ...(jwksUrl === undefined ? [] : [remoteKeys(jwksUrl)]),
  ];
}

/** Creates resolvers for the kinds of credentials that the settings allow. */
export function createCredentials({
  config,
  database,
  clock,
  log,
  ownTokens,
}: CredentialsOptions): Credentials {
  const keys = keySources(config.jwt);
  const { issuer, audience } = config.jwt;
  const sessions = sessionResolver({ database, clock, log });
  const resolvers = [
    apiKeyResolver({ database, clock, log }),
    sessions,
    // Before the JWTs of other issuers, which have no say in what our own keys have signed.
    oauthResolver({ ownTokens, database, clock, log }),
    ...(keys.length === 0 ? [] : [jwtResolver({ database, clock, keys, issuer, audience })]),
  ];
  const behind = (principal: Principal) => renew(principal, resolvers, clock.now());
  const streamTokens = createStreamTokens({ database, clock, log, renew: behind });
  return {
    recognizers: [streamTokens, ...resolvers],
    sessions,
    async renew(principal) {
      const { streamTokenId } = principal;
      if (streamTokenId !== undefined && !(await streamTokens.holds(streamTokenId))) return undefined;
      return behind(principal);
    },
  };
}
