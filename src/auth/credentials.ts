import type { Database } from '../database/database.ts';
import { deletion } from '../database/jobs.ts';
import type { Config } from '../platform/config/config.ts';
import { FairQueue } from '../platform/fairness/fair-queue.ts';
import { createAccountWriteQueue } from './account-write-queue.ts';
import { createApiKeyStrategy } from './api-keys.ts';
import type { AuthStrategy, Resolver } from './authenticate.ts';
import type { IdentityServices } from './external-identities.ts';
import { createJwtStrategies } from './jwt.ts';
import { KeysUnavailableError } from './jwt-keys.ts';
import { createLogin, createPasswords, type FailureCounter } from './login.ts';
import type { Principal } from './principal.ts';
import type { SecretServices } from './secrets.ts';
import { createSecurityLog } from './security-log.ts';
import { createSessionStrategy, sessionEnder } from './sessions.ts';
import { createStreamTokens } from './stream-tokens.ts';

/**
 * Combines all kinds of credentials.
 * @param others strategies of features; they precede the JWTs of external issuers, so that no external issuer
 * can claim their credentials
 */
function createCredentials(services: IdentityServices, jwt: Config['jwt'], others: readonly AuthStrategy[]) {
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
  /** Stream tokens are tried before the kinds for which they are issued. */
  const resolvers: readonly Resolver[] = [streamTokens, ...strategies];
  return {
    resolvers,
    strategies,
    sessions,
    /**
     * @returns undefined if the credentials that the operation started with are invalid, or if the keys that
     * verify them are unavailable
     * @throws {DatabaseError}
     */
    async renew(principal: Principal): Promise<Principal | undefined> {
      const { streamTokenId } = principal;
      if (streamTokenId !== undefined && !(await streamTokens.holds(streamTokenId))) return undefined;
      try {
        return await behind(principal);
      } catch (error) {
        // The cached keys are too old for requests, so they are too old for streams.
        if (error instanceof KeysUnavailableError) return undefined;
        throw error;
      }
    },
  };
}

/**
 * A hash takes 19 MiB and tens of milliseconds on a core. A full queue takes about a second (contract:
 * limits).
 */
const PASSWORD_HASHES = { concurrency: 2, maxWaiting: 32 };

/**
 * These connections serve work that may wait for the lock of an account: logins, logouts, consents and stream tokens.
 * All other connections serve operations.
 */
const ACCOUNT_WRITES = { concurrency: 2, maxWaiting: 256 };

export interface AccountsOptions extends SecretServices, Pick<Config, 'jwt'> {
  readonly database: Database;
  /** Strategies for the credentials that features issue. */
  readonly strategies: readonly AuthStrategy[];
  /** Counts failed logins. */
  readonly logins: FailureCounter;
  /** Counts the accounts that JWTs create. */
  readonly signUps: FailureCounter;
}

export function createAccounts({ strategies, logins, signUps, jwt, ...services }: AccountsOptions) {
  const { database, log } = services;
  const passwords = createPasswords(new FairQueue(PASSWORD_HASHES), logins);
  const securityLog = createSecurityLog(log);
  const accountWriteQueue = createAccountWriteQueue(database, new FairQueue(ACCOUNT_WRITES));
  return {
    credentials: createCredentials({ ...services, accountWriteQueue, signUps }, jwt, strategies),
    login: createLogin({ database, accountWriteQueue, passwords, securityLog }),
    endSession: sessionEnder(accountWriteQueue),
    passwords,
    securityLog,
    accountWriteQueue,
  };
}

export type Accounts = ReturnType<typeof createAccounts>;

/** Owners still see a revoked or expired key for this long. */
const INVALID_FOR_30_DAYS_SQL = "<= now() - interval '30 days'";

export const expiredSessions = deletion('sessions', { table: 'sessions', condition: 'expires_at <= now()' });
export const oldApiKeys = deletion(
  'api_keys',
  { table: 'api_keys', condition: `expires_at ${INVALID_FOR_30_DAYS_SQL}` },
  { table: 'api_keys', condition: `revoked_at ${INVALID_FOR_30_DAYS_SQL}` },
);
export const expiredStreamTokens = deletion('stream_tokens', {
  table: 'stream_tokens',
  condition: 'expires_at <= now()',
});
/** The margin is 120 s, because a token stays valid longer on an instance whose clock is slow. */
export const expiredTokens = deletion('revoked_tokens', {
  table: 'revoked_tokens',
  key: 'jti',
  condition: "expires_at <= now() - interval '120 seconds'",
});
