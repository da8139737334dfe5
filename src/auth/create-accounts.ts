import type { Database } from '../database/database.ts';
import type { Config } from '../platform/config/config.ts';
import { FairQueue } from '../platform/fairness/fair-queue.ts';
import { createAccountWriteQueue } from './account-write-queue.ts';
import type { AuthStrategy } from './authenticate.ts';
import { createCredentials } from './credentials.ts';
import { createLogin, createPasswords, type FailureCounter } from './login.ts';
import type { SecretServices } from './secrets.ts';
import { createSecurityLog } from './security-log.ts';
import { sessionEnder } from './sessions.ts';

/**
 * A hash takes 19 MiB and tens of milliseconds on a core. A full queue takes about a second (contract:
 * limits).
 */
const PASSWORD_HASHES = { concurrency: 2, maxWaiting: 32 };

/**
 * These connections serve work that may wait for the lock of an account: logins, logouts and stream tokens.
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
