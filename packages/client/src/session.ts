import type { Activity } from './activity.ts';
import type { Clock } from './clock.ts';
import { ContentGraphError } from './errors.ts';
import { createResponseError, readPayload } from './responses.ts';
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
  readonly activity: Activity;
  readonly clock: Clock;
  readonly lifetime: AbortSignal;
}

interface LoginResponse {
  readonly user?: SessionUser | null;
}

export function createSession({ transport, activity, clock, lifetime }: SessionContext): Session {
  const resolvePath = (path: string) => transport.url.replace(/\/graphql\/?(?:\?.*)?$/, path);

  async function request(path: string, init: RequestInit): Promise<Response> {
    try {
      return await transport.send(
        resolvePath(path),
        { ...init, signal: lifetime },
        {
          accept: 'application/json',
          'content-type': 'application/json',
        },
      );
    } catch (error) {
      lifetime.throwIfAborted();
      throw new ContentGraphError('NETWORK_ERROR', 'The connection to the service failed.', { cause: error });
    }
  }

  async function readUser(response: Response): Promise<SessionUser | null> {
    const body: LoginResponse | undefined = await response
      .clone()
      .json()
      .catch(() => undefined);
    if (response.ok && body?.user !== undefined) return body.user;
    throw createResponseError(response, await readPayload(response), clock.nowMs());
  }

  return {
    getViewer: async () => readUser(await request('/login', {})),
    async signIn(email, password) {
      const response = await request('/login', { method: 'POST', body: JSON.stringify({ email, password }) });
      const user = await readUser(response);
      if (user === null) throw createResponseError(response, {}, clock.nowMs());
      activity.retry();
      return user;
    },
    async signOut() {
      const response = await request('/logout', { method: 'POST' });
      if (!response.ok) throw createResponseError(response, await readPayload(response), clock.nowMs());
    },
  };
}
