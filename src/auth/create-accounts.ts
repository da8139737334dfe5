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

/** Contract section 5: a hash takes 19 MiB and a core for tens of ms. A full queue takes about a second. */
const PASSWORD_HASHES = { concurrency: 2, maxWaiting: 32 };

/**
 * Connections for work that may wait for the lock of an account and is no operation: logins, logouts, stream tokens. All
 * other connections are for operations.
 */
const ACCOUNT_WRITES = { concurrency: 2, maxWaiting: 256 };

export interface AccountsOptions extends SecretServices, Pick<Config, 'jwt'> {
  readonly database: Database;
  /** The credentials that features issue. */
  readonly strategies: readonly AuthStrategy[];
  /** Counts failed logins. */
  readonly logins: FailureCounter;
}

/** Creates everything that accounts log in with and change. */
export function createAccounts({ strategies, logins, jwt, ...services }: AccountsOptions) {
  const { database, log } = services;
  const passwords = createPasswords(new FairQueue(PASSWORD_HASHES), logins);
  const securityLog = createSecurityLog(log);
  const accountWriteQueue = createAccountWriteQueue(database, new FairQueue(ACCOUNT_WRITES));
  return {
    credentials: createCredentials(services, jwt, strategies),
    login: createLogin({ database, accountWriteQueue, passwords, securityLog }),
    endSession: sessionEnder(accountWriteQueue),
    passwords,
    securityLog,
    accountWriteQueue,
  };
}

export type Accounts = ReturnType<typeof createAccounts>;
