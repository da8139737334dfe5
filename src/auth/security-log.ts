import type { Logger } from '../platform/log/log.ts';
import { createLogRateLimiter } from '../platform/log/log-limits.ts';

export interface AttemptOrigin {
  readonly requestId: string;
  readonly clientAddress: string;
}

/** The entry has no value that the client sent, because users type passwords into email fields. */
export interface FailedCredential {
  /** The kind of a strategy, or a name for a credential without a strategy. */
  readonly kind: string;
  readonly reason: string;
  /** The account that owns or owned the credential, if there is one. */
  readonly accountId?: string | undefined;
  /** The OAuth client of the credential, if there is one. */
  readonly client?: string | undefined;
}

export type LoginFailure =
  | 'unknown_account'
  | 'wrong_password'
  | 'account_disabled'
  | 'no_password'
  | 'changed_during_login';

/** The failure bucket limits each IP address. These numbers limit all IP addresses together. */
const LINES_PER_MINUTE = 100;

/** Logs logins and rejected credentials for investigations (OWASP Logging Cheat Sheet, "authn"). */
export function createSecurityLog(log: Logger) {
  const logins = createLogRateLimiter({ log, event: 'auth.login_failed', maximum: LINES_PER_MINUTE });
  const credentials = new Map<string, ReturnType<typeof createLogRateLimiter>>();

  /** Each type has a separate limit, so that frequent failures of one type do not hide the others. */
  function findLimit(credentialType: string) {
    let limit = credentials.get(credentialType);
    if (limit === undefined) {
      const event = 'auth.credential_rejected';
      limit = createLogRateLimiter({ log, event, maximum: LINES_PER_MINUTE, about: { credentialType } });
      credentials.set(credentialType, limit);
    }
    return limit;
  }

  return {
    loggedIn: ({ requestId, clientAddress: clientIp }: AttemptOrigin, accountId: string): void =>
      log.emit('auth.login', { requestId, clientIp, accountId }),
    passwordChanged: ({ requestId, clientAddress: clientIp }: AttemptOrigin, accountId: string): void =>
      log.emit('auth.password_changed', { requestId, clientIp, accountId }),
    failedLogin(origin: AttemptOrigin, reason: LoginFailure, accountId: string | undefined): void {
      const { requestId, clientAddress: clientIp } = origin;
      logins.emit({ requestId, clientIp, accountId, reason });
    },
    failedCredential({ requestId, clientAddress: clientIp }: AttemptOrigin, failed: FailedCredential): void {
      const { kind: credentialType, reason, accountId, client } = failed;
      findLimit(credentialType).emit({ requestId, clientIp, credentialType, accountId, client, reason });
    },
    close(): void {
      logins.close();
      for (const limit of credentials.values()) limit.close();
    },
  };
}

export type SecurityLog = ReturnType<typeof createSecurityLog>;
