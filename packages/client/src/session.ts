import type { Activity } from './activity.ts';
import type { Attempts } from './attempts.ts';
import type { CallOptions } from './calls.ts';
import type { Clock } from './clock.ts';
import { ContentGraphError } from './errors.ts';
import { createResponseError, type Payload, readPayload } from './responses.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { Transport } from './transport.ts';

/** The account of a session. */
export interface SessionUser {
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

/** Signing in with the session cookie, on pages of the origin of the service or of an allowed origin. */
export interface Session {
  /** Repeats what may succeed later, as a query does. @returns the account of the session cookie, or null */
  getViewer(options?: CallOptions): Promise<SessionUser | null>;
  /**
   * Sends the password once, after a pending `signOut`, whose response would remove the new cookie.
   * @throws {ContentGraphError} `UNAUTHENTICATED` for a wrong email address or password. In development, also with the
   * reason why the browser drops the cookie
   */
  signIn(email: string, password: string): Promise<SessionUser>;
  /** Repeats what may succeed later, as a query does. */
  signOut(options?: CallOptions): Promise<void>;
}

interface SessionContext {
  readonly transport: Transport;
  readonly attempts: Attempts;
  readonly activity: Activity;
  readonly clock: Clock;
  readonly policy: RetryPolicy;
}

interface LoginPayload extends Payload<never> {
  readonly user?: SessionUser | null;
}

const FIELDS = { accept: 'application/json', 'content-type': 'application/json' };

export function createSession({ transport, attempts, activity, clock, policy }: SessionContext): Session {
  const resolvePath = (path: string) => transport.url.replace(/\/graphql\/?(?:\?.*)?$/, path);
  let leaving: Promise<unknown> = Promise.resolve();

  /** @throws {ContentGraphError} if `read` finds no result within the time budget */
  const request = <Result>(
    path: string,
    init: RequestInit,
    read: (payload: LoginPayload, headers: Headers) => Result | undefined,
    budgetMs = policy.queryBudgetMs,
    options: CallOptions = {},
  ): Promise<Result> =>
    attempts.repeat(
      (signal) =>
        attempts.run(signal, async (limit) => {
          const response = await transport.send(resolvePath(path), { ...init, signal: limit }, FIELDS);
          const payload: LoginPayload = await readPayload<never>(response);
          const result = response.ok ? read(payload, response.headers) : undefined;
          if (result === undefined) throw createResponseError(response, payload, clock.nowMs());
          activity.wake('reachable');
          return result;
        }),
      budgetMs,
      options,
    );

  return {
    getViewer: (options) => request('/login', {}, ({ user }) => user, undefined, options),
    async signIn(email, password) {
      await leaving;
      const init = { method: 'POST', body: JSON.stringify({ email, password }) };
      const readUser = (payload: LoginPayload, headers: Headers) => {
        const warning = headers.get('x-session-warning');
        if (warning !== null) throw new ContentGraphError('UNAUTHENTICATED', warning, { httpStatus: 200 });
        return payload.user ?? undefined;
      };
      const user = await request('/login', init, readUser, 0);
      activity.retry();
      return user;
    },
    async signOut(options) {
      const sent = request('/logout', { method: 'POST' }, () => true, undefined, options);
      leaving = sent.catch(() => undefined);
      await sent;
    },
  };
}
