/** OAuth 2.0 for a page: authorization code with PKCE (RFC 7636), as a public client. Needs no library: copy this file. */
export interface OAuthOptions {
  /** The origin of the service, `PUBLIC_URL`. */
  readonly issuer: string;
  readonly clientId: string;
  /** As it is registered, to the last character. */
  readonly redirectUri: string;
  readonly scope: string;
}

/** RFC 6749, section 5.2. `invalid_grant` is the end of a sign-in. */
export class OAuthError extends Error {
  readonly code: string;

  constructor(code: string, description: string | null) {
    super(description ?? code);
    this.code = code;
  }
}

interface Tokens {
  readonly access_token: string;
  readonly expires_in: number;
  readonly refresh_token: string;
}

/** One sign-in for all tabs. A refresh token is good once, so only one tab at a time may use it. */
const REFRESH_TOKEN = 'refresh-token';
const DATABASE = 'oauth';
/** What a tab remembers while its user is away at the service. */
const BEGUN = 'oauth-begun';
/** Tokens are replaced a little before they expire, on a clock that may be late. */
const EARLY_MS = 30_000;

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

const done = <T>(request: IDBRequest<T>) =>
  new Promise<T>((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/**
 * Reads or writes what all tabs share. A lock alone is not enough for localStorage: what another tab has just written there may
 * still be on its way. The transactions of IndexedDB have one order in all tabs.
 */
async function inStore<T>(
  mode: IDBTransactionMode,
  use: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const opening = indexedDB.open(DATABASE);
  opening.onupgradeneeded = () => opening.result.createObjectStore(DATABASE);
  const database = await done(opening);
  try {
    return await done(use(database.transaction(DATABASE, mode).objectStore(DATABASE)));
  } finally {
    database.close();
  }
}

const storedToken = () => inStore<string | undefined>('readonly', (store) => store.get(REFRESH_TOKEN));
const storeToken = (token: string) => inStore('readwrite', (store) => store.put(token, REFRESH_TOKEN));
const deleteToken = () => inStore('readwrite', (store) => store.delete(REFRESH_TOKEN));

const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

export function createOAuth({ issuer, clientId, redirectUri, scope }: OAuthOptions) {
  /** In memory only: a reload takes a new one. */
  let access: { readonly token: string; readonly untilMs: number } | undefined;

  // A form: such a request needs no preflight.
  const post = (path: string, parameters: Record<string, string>) =>
    fetch(`${issuer}/oauth/${path}`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: clientId, ...parameters }),
    });

  async function take(parameters: Record<string, string>): Promise<string> {
    const response = await post('token', parameters);
    const answer = await response.json();
    if (!response.ok) throw new OAuthError(answer.error, answer.error_description);
    const tokens = answer as Tokens;
    await storeToken(tokens.refresh_token);
    access = {
      token: tokens.access_token,
      // By the clock of the day: the other one stands still while the machine sleeps.
      untilMs: Date.now() + tokens.expires_in * 1_000 - EARLY_MS,
    };
    return tokens.access_token;
  }

  /** Ends the sign-in here, without a word to the service. */
  async function forget(): Promise<void> {
    access = undefined;
    await deleteToken();
  }

  const current = () => (access !== undefined && Date.now() < access.untilMs ? access.token : undefined);

  /** Undefined if nobody is signed in. */
  async function refresh(): Promise<string | undefined> {
    return navigator.locks.request(REFRESH_TOKEN, async () => {
      // Whoever has waited for the lock may find that it is done.
      const fresh = current();
      if (fresh !== undefined) return fresh;
      const refreshToken = await storedToken();
      if (refreshToken === undefined) return undefined;
      try {
        return await take({ grant_type: 'refresh_token', refresh_token: refreshToken });
      } catch (error) {
        if (!(error instanceof OAuthError) || error.code !== 'invalid_grant') throw error;
        await forget();
        return undefined;
      }
    });
  }

  const token = async () => current() ?? refresh();

  return {
    /** An access token that is still good; undefined if nobody is signed in. */
    token,

    /** Leaves the page for the service, which sends its user back to `redirectUri`. */
    async signIn(): Promise<void> {
      const [state, verifier] = [random(), random()];
      sessionStorage.setItem(BEGUN, JSON.stringify({ state, verifier }));
      const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
      const parameters = new URLSearchParams({
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri,
        scope,
        state,
        code_challenge: base64url(new Uint8Array(digest)),
        code_challenge_method: 'S256',
      });
      location.assign(`${issuer}/oauth/authorize?${parameters}`);
    },

    /** To be called when the page opens: exchanges the code that a user has come back with. Throws an OAuthError. */
    async finish(): Promise<void> {
      const returned = new URLSearchParams(location.search);
      if (!returned.has('state')) return;
      const begun = JSON.parse(sessionStorage.getItem(BEGUN) ?? '{}');
      sessionStorage.removeItem(BEGUN);
      // The code is good once: a reload must not send it again.
      history.replaceState(null, '', location.pathname);
      // Of another sign-in, or from another server (RFC 9207).
      if (returned.get('state') !== begun.state || returned.get('iss') !== issuer)
        throw new OAuthError('invalid_state', 'This sign-in was not begun here. Sign in again.');
      const error = returned.get('error');
      if (error !== null) throw new OAuthError(error, returned.get('error_description'));
      const parameters = {
        grant_type: 'authorization_code',
        code: returned.get('code') ?? '',
        redirect_uri: redirectUri,
        code_verifier: begun.verifier,
      };
      await navigator.locks.request(REFRESH_TOKEN, () => take(parameters));
    },

    /**
     * Ends the sign-in in all tabs, with every token that was issued for it. Throws where the service could not be told:
     * somebody is still signed in then, and can try again.
     */
    async signOut(): Promise<void> {
      await navigator.locks.request(REFRESH_TOKEN, async () => {
        const refreshToken = await storedToken();
        if (refreshToken !== undefined) {
          const response = await post('revoke', { token: refreshToken }).catch(() => undefined);
          if (response === undefined || response.status === 429 || response.status >= 500)
            throw new Error('Not signed out. Try again.');
        }
        await forget();
      });
    },
  };
}
