import type { Config } from '../platform/config.ts';
import { apiKeyRecognizer } from './api-key/recognizer.ts';
import type { Recognizer, Resolver } from './authenticate.ts';
import { KeysUnavailableError } from './jwt/key-source.ts';
import { jwtRecognizers } from './jwt/recognizer.ts';
import type { SecretServices } from './look-up.ts';
import type { Principal } from './principal.ts';
import { sessionRecognizer } from './session/store.ts';
import { createStreamTokens } from './stream-token/store.ts';

/**
 * Everything that a request can authenticate with. `others` are the recognizers of features. They come before the JWTs of
 * other issuers, which have no say in theirs.
 */
export function createCredentials(
  services: SecretServices,
  jwt: Config['jwt'],
  others: readonly Recognizer[],
) {
  const sessions = sessionRecognizer(services);
  const recognizers = [apiKeyRecognizer(services), sessions, ...others, ...jwtRecognizers(services, jwt)];
  const kinds = new Set(['anonymous', ...recognizers.map(({ kind }) => kind)]);
  if (kinds.size <= recognizers.length) throw new Error('two recognizers have one kind, or one is anonymous');
  const behind = async (principal: Principal) =>
    recognizers.find(({ kind }) => kind === principal.kind)?.renew(principal);
  const streamTokens = createStreamTokens({ ...services, renew: behind });
  /** In the order in which they are asked: stream tokens, then the kinds that these may stand for. */
  const resolvers: readonly Resolver[] = [streamTokens, ...recognizers];
  return {
    resolvers,
    recognizers,
    sessions,
    /**
     * The principal of a long operation as it is now. Undefined if the credentials that it started with have ended, or if
     * nobody vouches for them any more. Throws DatabaseError.
     */
    async renew(principal: Principal): Promise<Principal | undefined> {
      const { streamTokenId } = principal;
      if (streamTokenId !== undefined && !(await streamTokens.holds(streamTokenId))) return undefined;
      try {
        return await behind(principal);
      } catch (error) {
        // What is known of the keys is too old for requests by now, so it is for streams.
        if (error instanceof KeysUnavailableError) return undefined;
        throw error;
      }
    },
  };
}

export type Credentials = ReturnType<typeof createCredentials>;
