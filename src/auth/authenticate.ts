import type { Principal } from './principal.ts';
import { sessionCookies } from './session/cookie.ts';

/** Where a credential was found. Only the one that counts is looked at (contract section 3). */
export interface Presented {
  readonly place: 'authorization' | 'query' | 'cookie';
  readonly value: string;
}

/** What counts and cannot be looked at, with the reason for whoever sent it. */
export interface Malformed {
  readonly malformed: string;
}

/** A good credential. */
export interface Recognized {
  readonly outcome: 'valid';
  readonly principal: Principal;
  /** Notes that it was used. Called once the request is let in: one that is refused for its rate writes nothing. */
  readonly used?: () => void;
}

/** What a resolver says of a credential: not of its kind, of its kind and good, or of its kind and bad. */
export type Resolution =
  | { readonly outcome: 'not-mine' }
  | Recognized
  | { readonly outcome: 'invalid'; readonly reason: string };

/** Knows one kind of credential. */
export interface CredentialResolver {
  readonly kind: Principal['kind'];
  /** Throws DatabaseError, and KeysUnavailableError where the keys to check a token with cannot be had. */
  resolve(presented: Presented): Promise<Resolution>;
  /** Whether the credentials behind a principal of this kind still hold, apart from a token's own expiry. Throws DatabaseError. */
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
const SEVERAL_KEYS: Malformed = { malformed: 'There is more than one api_key.' };
const SEVERAL_COOKIES: Malformed = {
  malformed: 'There is more than one session cookie: clear those of this site.',
};

/**
 * The credential that counts: the Authorization header, else the query parameter `api_key`, else the session cookie.
 * A header of another scheme than Bearer (RFC 6750 section 2.1) counts and is malformed. Several of a kind are as well:
 * another reader of the request might take another one.
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

/** Asks the resolvers in turn. A credential that none of them takes for its own is invalid, never anonymous. */
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
  return { outcome: 'invalid', reason: 'The credential is of no known kind.' };
}

/** Whether credentials that were good once still are. Throws what the resolver of their kind throws. */
export async function stillValid(
  principal: Principal,
  resolvers: readonly CredentialResolver[],
  nowMs: number,
): Promise<boolean> {
  // Of what is stored, the database says when it ends. A token's own claim is all that there is.
  const { kind, expiresAtMs } = principal;
  const byClaim = kind === 'jwt' || kind === 'oauth';
  if (byClaim && expiresAtMs !== undefined && expiresAtMs <= nowMs) return false;
  const resolver = resolvers.find((known) => known.kind === kind);
  return resolver === undefined ? false : resolver.stillValid(principal);
}
