import type { Interaction } from 'oidc-provider';
import type { Recognizer } from '../../auth/authenticate.ts';
import type { Principal } from '../../auth/principal.ts';
import { sessionCookies } from '../../auth/session/cookie.ts';
import type { HttpRequest } from '../../request/http-message.ts';

/** Who is signed in, for the pages of an authorization. */
export interface SignIns {
  /** Id of the session that was opened on the pages of this authorization. */
  openedIn(interaction: Interaction): string | undefined;
  /** The session of the request's cookie. */
  sessionOf(request: HttpRequest): Promise<Principal | undefined>;
  /** Records a new session in the authorization, and ends the one that its cookie replaces. */
  replace(request: HttpRequest, interaction: Interaction, sessionId: string): Promise<void>;
}

export interface SignInOptions {
  readonly sessions: Recognizer;
  readonly endSession: (id: string, userId: string) => Promise<unknown>;
  /** Told the account of a request once its session is known. */
  readonly isOf: (accountId: string) => void;
}

/** How an unfinished authorization records who has signed in. */
interface Remembered {
  readonly signedIn?: string;
}

export function createSignIns({ sessions, endSession, isOf }: SignInOptions): SignIns {
  async function principalOf(cookie: string | undefined): Promise<Principal | undefined> {
    if (cookie === undefined) return undefined;
    const resolution = await sessions.resolve({ place: 'cookie', value: cookie });
    if (resolution.outcome !== 'valid') return undefined;
    resolution.used?.();
    return resolution.principal;
  }

  async function sessionOf(request: HttpRequest): Promise<Principal | undefined> {
    const [cookie, ...others] = sessionCookies(request.headers.get('cookie'));
    const principal = others.length > 0 ? undefined : await principalOf(cookie);
    if (principal !== undefined) isOf(principal.userId);
    return principal;
  }

  return {
    sessionOf,
    openedIn: ({ result }) => ((result ?? {}) as Remembered).signedIn,
    async replace(request, interaction, sessionId) {
      const [before, opened] = await Promise.all([sessionOf(request), principalOf(sessionId)]);
      if (opened === undefined) return;
      isOf(opened.userId);
      interaction.result = { signedIn: opened.credentialId };
      await interaction.persist();
      if (before?.credentialId !== undefined) await endSession(before.credentialId, before.userId);
    },
  };
}
