import { deletion } from '../database/jobs.ts';
import type { Config } from '../platform/config/config.ts';
import { createApiKeyStrategy } from './api-keys.ts';
import type { AuthStrategy, Resolver } from './authenticate.ts';
import { createJwtStrategies } from './jwt.ts';
import { KeysUnavailableError } from './jwt-keys.ts';
import type { Principal } from './principal.ts';
import type { SecretServices } from './secrets.ts';
import { createSessionStrategy } from './sessions.ts';
import { createStreamTokens } from './stream-tokens.ts';

/**
 * Everything that a request can authenticate with. `others` are the strategies of features. They come before the JWTs of
 * other issuers, which have no say in theirs.
 */
export function createCredentials(
  services: SecretServices,
  jwt: Config['jwt'],
  others: readonly AuthStrategy[],
) {
  const sessions = createSessionStrategy(services);
  const strategies = [
    createApiKeyStrategy(services),
    sessions,
    ...others,
    ...createJwtStrategies(services, jwt),
  ];
  const kinds = new Set(['anonymous', ...strategies.map(({ kind }) => kind)]);
  if (kinds.size <= strategies.length) throw new Error('two strategies have one kind, or one is anonymous');
  const behind = async (principal: Principal) =>
    strategies.find(({ kind }) => kind === principal.kind)?.renew(principal);
  const streamTokens = createStreamTokens(services, behind);
  /** In the order in which they are tried: stream tokens, then the kinds for which stream tokens are issued. */
  const resolvers: readonly Resolver[] = [streamTokens, ...strategies];
  return {
    resolvers,
    strategies,
    sessions,
    /**
     * The current principal of a long operation. Undefined if the credentials that it started with are revoked or expired, or
     * if the keys that verify them are unavailable. Throws DatabaseError.
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

/** Contract section 8: their owner still sees them for this long. */
const USELESS = "<= now() - interval '30 days'";

export const expiredSessions = deletion('sessions', { table: 'sessions', condition: 'expires_at <= now()' });
/** Keys that have been of no use for 30 days. */
export const oldApiKeys = deletion(
  'api_keys',
  { table: 'api_keys', condition: `expires_at ${USELESS}` },
  { table: 'api_keys', condition: `revoked_at ${USELESS}` },
);
export const expiredStreamTokens = deletion('stream_tokens', {
  table: 'stream_tokens',
  condition: 'expires_at <= now()',
});
/**
 * Blocklist entries of expired tokens, which nobody can use any more. A margin of 120 seconds: on an instance whose clock
 * is behind, a token is valid a little longer.
 */
export const expiredTokens = deletion('revoked_tokens', {
  table: 'revoked_tokens',
  key: 'jti',
  condition: "expires_at <= now() - interval '120 seconds'",
});
