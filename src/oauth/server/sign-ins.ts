import type { Interaction } from 'oidc-provider';
import { presentedCookie, type Recognizer } from '../../auth/authenticate.ts';
import type { Principal } from '../../auth/principal.ts';
import type { Role } from '../../auth/scopes.ts';
import { type Queryable, statement } from '../../platform/db/statement.ts';
import { isUuid } from '../../platform/uuid.ts';
import type { HttpRequest } from '../../request/http-message.ts';

/** An account as the OAuth pages see it. */
export interface ActiveAccount {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly role: Role;
}

const FIND = statement<ActiveAccount>(
  'oauth_account',
  'SELECT id, name, email, role FROM users WHERE id = $1 AND disabled_at IS NULL',
);

/** An account that is not disabled. Undefined if it is unknown or disabled. Throws DatabaseError. */
export async function findActiveAccount(db: Queryable, id: string): Promise<ActiveAccount | undefined> {
  return isUuid(id) ? (await db.query(FIND, [id]))[0] : undefined;
}

interface SignInOptions {
  readonly sessions: Recognizer;
  readonly endSession: (id: string, userId: string) => Promise<unknown>;
  /** Told the account of a request once its session is known. */
  readonly isOf: (accountId: string) => void;
}

/** How an unfinished authorization records who has signed in. */
interface Remembered {
  readonly signedIn?: string;
}

/** Who is signed in, for the pages of an authorization. */
export function createSignIns({ sessions, endSession, isOf }: SignInOptions) {
  async function principalOf(value: string): Promise<Principal | undefined> {
    const resolution = await sessions.resolve({ place: 'cookie', value });
    if (resolution.outcome !== 'valid') return undefined;
    resolution.used?.();
    return resolution.principal;
  }

  /** The session of the request's cookie. */
  async function sessionOf(request: HttpRequest): Promise<Principal | undefined> {
    const presented = presentedCookie(request.headers);
    const principal = presented && 'value' in presented ? await principalOf(presented.value) : undefined;
    if (principal !== undefined) isOf(principal.userId);
    return principal;
  }

  return {
    sessionOf,
    /** Id of the session that was opened on the pages of this authorization. */
    openedIn: ({ result }: Interaction) => ((result ?? {}) as Remembered).signedIn,
    /** Records a new session in the authorization, and ends the one that its cookie replaces. */
    async replace(request: HttpRequest, interaction: Interaction, sessionId: string): Promise<void> {
      const [before, opened] = await Promise.all([sessionOf(request), principalOf(sessionId)]);
      if (opened === undefined) return;
      isOf(opened.userId);
      interaction.result = { signedIn: opened.credentialId };
      await interaction.persist();
      if (before?.credentialId !== undefined) await endSession(before.credentialId, before.userId);
    },
  };
}
