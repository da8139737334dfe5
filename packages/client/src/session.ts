import type { Activity } from './activity.ts';
import type { Attempts } from './attempts.ts';
import type { Clock } from './clock.ts';
import { createResponseError, type Payload, readPayload } from './responses.ts';
import type { Transport } from './transport.ts';

/** The account of a session. */
export interface SessionUser {
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

/** Signing in with the session cookie, on pages of the origin of the service or of an allowed origin. */
export interface Session {
  /** @returns the account of the session cookie, or null */
  getViewer(): Promise<SessionUser | null>;
  /** @throws {ContentGraphError} `UNAUTHENTICATED` for a wrong email address or password */
  signIn(email: string, password: string): Promise<SessionUser>;
  signOut(): Promise<void>;
}

interface SessionContext {
  readonly transport: Transport;
  readonly attempts: Attempts;
  readonly activity: Activity;
  readonly clock: Clock;
  readonly lifetime: AbortSignal;
}

interface LoginPayload extends Payload<never> {
  readonly user?: SessionUser | null;
}

const FIELDS = { accept: 'application/json', 'content-type': 'application/json' };

export function createSession({ transport, attempts, activity, clock, lifetime }: SessionContext): Session {
  const resolvePath = (path: string) => transport.url.replace(/\/graphql\/?(?:\?.*)?$/, path);

  /** Sends a request once. @throws {ContentGraphError} if `read` finds no result */
  const request = <Result>(
    path: string,
    init: RequestInit,
    read: (payload: LoginPayload) => Result | undefined,
  ): Promise<Result> =>
    attempts.run(lifetime, async (limit) => {
      const response = await transport.send(resolvePath(path), { ...init, signal: limit }, FIELDS);
      const payload: LoginPayload = await readPayload<never>(response);
      const result = response.ok ? read(payload) : undefined;
      if (result === undefined) throw createResponseError(response, payload, clock.nowMs());
      return result;
    });

  return {
    getViewer: () => request('/login', {}, ({ user }) => user),
    async signIn(email, password) {
      const init = { method: 'POST', body: JSON.stringify({ email, password }) };
      const user = await request('/login', init, (payload) => payload.user ?? undefined);
      activity.retry();
      return user;
    },
    async signOut() {
      await request('/logout', { method: 'POST' }, () => true);
    },
  };
}
