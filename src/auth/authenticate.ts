import type { Principal } from './principal.ts';
import { sessionCookies } from './session/cookie.ts';

/** A credential and where it was found. Only the one in effect is looked at (contract section 3). */
export interface Presented {
  readonly place: 'authorization' | 'query' | 'cookie';
  readonly value: string;
}

/** A credential in effect that cannot be checked, with the reason for the client. */
export interface Malformed {
  readonly malformed: string;
}

/** A valid credential. */
export interface Recognized {
  readonly outcome: 'valid';
  readonly principal: Principal;
  /** Records the use. Called once the request is admitted: one refused by the rate limit writes nothing. */
  readonly used?: () => void;
}

/** A resolver's verdict: not its kind of credential, valid, or invalid. */
export type Resolution =
  | { readonly outcome: 'not-mine' }
  | Recognized
  | { readonly outcome: 'invalid'; readonly reason: string };

/** Resolves one kind of credential. */
export interface CredentialResolver {
  readonly kind: Principal['kind'];
  /** Throws DatabaseError, and KeysUnavailableError if the keys to check a token with are unavailable. */
  resolve(presented: Presented): Promise<Resolution>;
  /**
   * Whether the credentials behind a principal of this kind are still valid, apart from a token's own expiry.
   * Throws DatabaseError.
   */
  stillValid(principal: Principal): Promise<boolean>;
}

export type Authentication =
  | { readonly outcome: 'none' }
  | Recognized
  | { readonly outcome: 'invalid'; readonly reason: string };

const BEARER = /^Bearer +([^\s]+) *$/i;

const NOT_BEARER: Malformed = {
  malformed: 'The Authorization header is not of the form "Bearer <token>".',
};
const SEVERAL_KEYS: Malformed = { malformed: 'The request has more than one api_key parameter.' };
const SEVERAL_COOKIES: Malformed = {
  malformed: 'The request has more than one session cookie: clear the cookies of this site.',
};

/**
 * The credential in effect: the Authorization header, else the query parameter `api_key`, else the session
 * cookie. A header with a scheme other than Bearer (RFC 6750 section 2.1) is in effect and malformed. So are
 * several of one kind: another reader of the request might pick another.
 */
export function presentedCredential(
  headers: Pick<Headers, 'get'>,
  apiKeys: readonly string[],
): Presented | Malformed | undefined {
  const authorization = headers.get('authorization');
  if (authorization !== null) {
    const match = BEARER.exec(authorization);
    return match?.[1] === undefined ? NOT_BEARER : { place: 'authorization', value: match[1] };
  }
  const [apiKey, ...otherKeys] = apiKeys;
  if (apiKey !== undefined) return otherKeys.length > 0 ? SEVERAL_KEYS : { place: 'query', value: apiKey };
  const [cookie, ...otherCookies] = sessionCookies(headers.get('cookie'));
  if (cookie === undefined) return undefined;
  return otherCookies.length > 0 ? SEVERAL_COOKIES : { place: 'cookie', value: cookie };
}

/** Asks the resolvers in turn. A credential that none of them recognises is invalid, never anonymous. */
export async function authenticate(
  presented: Presented | Malformed | undefined,
  resolvers: readonly CredentialResolver[],
): Promise<Authentication> {
  if (presented === undefined) return { outcome: 'none' };
  if ('malformed' in presented) return { outcome: 'invalid', reason: presented.malformed };
  for (const resolver of resolvers) {
    const resolution = await resolver.resolve(presented);
    if (resolution.outcome !== 'not-mine') return resolution;
  }
  return { outcome: 'invalid', reason: 'The credential is of an unknown kind.' };
}

/** Whether credentials that were valid once still are. Throws what the resolver of their kind throws. */
export async function stillValid(
  principal: Principal,
  resolvers: readonly CredentialResolver[],
  nowMs: number,
): Promise<boolean> {
  // The database decides when stored credentials end. For a token only its own claim does.
  const { kind, expiresAtMs } = principal;
  const byClaim = kind === 'jwt' || kind === 'oauth';
  if (byClaim && expiresAtMs !== undefined && expiresAtMs <= nowMs) return false;
  const resolver = resolvers.find((known) => known.kind === kind);
  return resolver === undefined ? false : resolver.stillValid(principal);
}
