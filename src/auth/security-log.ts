import type { Logger } from '../platform/log/log.ts';
import { createLineLimit } from '../platform/log/log-limits.ts';

/** Where an attempt to authenticate comes from. */
export interface AttemptOrigin {
  readonly requestId: string;
  readonly address: string;
}

/** A rejected credential, without any value that the client sent: passwords land in email fields. */
export interface FailedCredential {
  /** The kind of its strategy, or a name for a credential without a strategy. */
  readonly kind: string;
  readonly reason: string;
  /** The account that it belongs to or belonged to, if there is one. */
  readonly accountId?: string | undefined;
  /** The application that it belongs to, if there is one. */
  readonly client?: string | undefined;
}

/** Why a login failed. */
export type LoginFailure =
  | 'no such account'
  | 'wrong password'
  | 'disabled account'
  | 'account without a password'
  | 'changed meanwhile';

/** Each address can fail only as often as its failure bucket allows. These bound all addresses together. */
const LINES_PER_MINUTE = 100;

/** What an investigation needs to know of logins and credentials (OWASP Logging Cheat Sheet, "authn"). */
export function createSecurityLog(log: Logger) {
  const logins = createLineLimit({ log, maximum: LINES_PER_MINUTE, what: 'failed login' });
  const credentials = new Map<string, ReturnType<typeof createLineLimit>>();

  /** Each kind has its own limit: one that can be failed more easily must not hide the others. */
  function credentialsOf(kind: string) {
    let limit = credentials.get(kind);
    if (limit === undefined) {
      limit = createLineLimit({ log, maximum: LINES_PER_MINUTE, what: `failed ${kind}` });
      credentials.set(kind, limit);
    }
    return limit;
  }

  return {
    loggedIn: ({ requestId, address }: AttemptOrigin, accountId: string): void =>
      log.info({ requestId, address, account: accountId }, 'login'),
    passwordChanged: ({ requestId, address }: AttemptOrigin, accountId: string): void =>
      log.info({ requestId, address, account: accountId }, 'password changed'),
    failedLogin(origin: AttemptOrigin, reason: LoginFailure, account: string | undefined): void {
      const { requestId, address } = origin;
      logins.warn({ requestId, address, account, reason }, 'failed login');
    },
    failedCredential({ requestId, address }: AttemptOrigin, failed: FailedCredential): void {
      const { kind, reason, accountId: account, client } = failed;
      credentialsOf(kind).warn({ requestId, address, kind, account, client, reason }, 'failed credential');
    },
    close(): void {
      logins.close();
      for (const limit of credentials.values()) limit.close();
    },
  };
}

export type SecurityLog = ReturnType<typeof createSecurityLog>;
