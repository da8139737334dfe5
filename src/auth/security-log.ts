import type { Logger } from '../platform/log/log.ts';
import { createLogRateLimiter } from '../platform/log/log-limits.ts';

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
  | 'unknown_account'
  | 'wrong_password'
  | 'account_disabled'
  | 'no_password'
  | 'changed_during_login';

/** Each address can fail only as often as its failure bucket allows. These bound all addresses together. */
const LINES_PER_MINUTE = 100;

/** What an investigation needs to know of logins and credentials (OWASP Logging Cheat Sheet, "authn"). */
export function createSecurityLog(log: Logger) {
  const logins = createLogRateLimiter({ log, event: 'auth.login_failed', maximum: LINES_PER_MINUTE });
  const credentials = new Map<string, ReturnType<typeof createLogRateLimiter>>();

  /** Each type has its own limit: one that can be failed more easily must not hide the others. */
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
    loggedIn: ({ requestId, address: clientIp }: AttemptOrigin, accountId: string): void =>
      log.emit('auth.login', { requestId, clientIp, accountId }),
    passwordChanged: ({ requestId, address: clientIp }: AttemptOrigin, accountId: string): void =>
      log.emit('auth.password_changed', { requestId, clientIp, accountId }),
    failedLogin(origin: AttemptOrigin, reason: LoginFailure, accountId: string | undefined): void {
      const { requestId, address: clientIp } = origin;
      logins.emit({ requestId, clientIp, accountId, reason });
    },
    failedCredential({ requestId, address: clientIp }: AttemptOrigin, failed: FailedCredential): void {
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
