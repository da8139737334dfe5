import type { Parameter } from '../database/statement.ts';
import type { Principal } from './principal.ts';
import type { FailedCredential } from './security-log.ts';

/** RFC 9110 §5.6.2. Cookie names are such tokens. */
const TOKEN_CHARACTER = /[\w!#$%&'*+.^`|~-]/;

/**
 * Removes the characters at both ends that are not `inner`. The loop takes linear time, but an expression
 * with `+$` takes quadratic time.
 */
function strip(text: string, inner: (character: string) => boolean): string {
  let [start, end] = [0, text.length];
  while (start < end && !inner(text.charAt(start))) start += 1;
  while (end > start && !inner(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

const withoutSpace = (text: string) => strip(text, (character) => character !== ' ' && character !== '\t');
const bareName = (text: string) => strip(text, (character) => TOKEN_CHARACTER.test(character));

/**
 * Finds the values of the cookies named `name` in a Cookie header (RFC 6265 §4.2.1). If there is one,
 * look-alikes count as well: names in other letters, or with further whitespace around them. A sibling host
 * may set a look-alike where browsers protect only the exact name (`__Host-`). It may have planted any of
 * several cookies (RFC 6265 §8.6), so the caller can trust none of them. A look-alike alone is another
 * cookie.
 */
export function cookiesNamed(header: string | null, name: string): readonly string[] {
  if (header === null) return [];
  const lower = name.toLowerCase();
  const values: string[] = [];
  let exact = false;
  for (const pair of header.split(';')) {
    const [sent = '', ...value] = pair.split('=');
    if (bareName(sent).toLowerCase() !== lower) continue;
    exact ||= withoutSpace(sent) === name;
    values.push(withoutSpace(value.join('=')));
  }
  return exact ? values : [];
}

export const SESSION_COOKIE = 'session_id';
const SESSION_COOKIE_ATTRIBUTES = 'HttpOnly; Secure; SameSite=Strict; Path=/';

/** The cookie lasts until the browser is closed. Only the server decides when the session expires. */
export function setSessionCookie(id: string): string {
  return `${SESSION_COOKIE}=${id}; ${SESSION_COOKIE_ATTRIBUTES}`;
}

/** Browsers delete a cookie that has expired (RFC 6265 §3.1). */
export const CLEAR_SESSION_COOKIE = `${SESSION_COOKIE}=; ${SESSION_COOKIE_ATTRIBUTES}; Max-Age=0`;

/** True if the last use was stored recently; null if the credentials differ from the cached ones. */
export type CredentialCheckResult = boolean | null;

export interface CredentialCheck {
  /** All checks of a kind have the same SQL. */
  readonly kind: string;
  /**
   * Returns SQL of a scalar of type CredentialCheckResult. The arguments are parameter numbers, such as `$1`.
   */
  sql(...numbers: readonly string[]): string;
  readonly values: readonly Parameter[];
  /**
   * Looks the credentials up in a separate statement.
   * @throws {DatabaseError}
   */
  lookUp(): Promise<CredentialCheckResult>;
  /** Called once. `used` is true if the request was admitted, which counts as a use of the credentials. */
  onFound(found: CredentialCheckResult, used: boolean): void;
}

/**
 * A cached session that may have been revoked or expired since. Before it is verified, no operation changes
 * anything and no response is sent. The statement that reads the response verifies the session, or else a
 * look-up does (decisions/0035-unverified-sessions.md).
 */
export class UnverifiedSession {
  readonly check: CredentialCheck;
  #isValid: boolean | undefined;
  #used = false;
  #looking: Promise<CredentialCheckResult> | undefined;

  constructor(check: CredentialCheck) {
    this.check = check;
  }

  get isPending(): boolean {
    return this.#isValid === undefined;
  }

  readonly use = (): void => {
    this.#used = true;
  };

  /** @returns true if the session is valid and no earlier check has found it invalid */
  verify(found: CredentialCheckResult): boolean {
    if (this.#isValid === undefined) {
      this.#isValid = found !== null;
      this.check.onFound(found, this.#used);
    }
    return this.#isValid && found !== null;
  }

  /**
   * Looks the session up once, unless a statement has checked it.
   * @throws {DatabaseError}
   */
  async verifyByLookUp(): Promise<boolean> {
    if (this.#isValid !== undefined) return this.#isValid;
    this.#looking ??= this.check.lookUp();
    return this.verify(await this.#looking);
  }
}

/** The credential in effect. Further credentials are ignored. */
export interface ExtractedCredential {
  readonly place: 'stream-token' | 'authorization' | 'query' | 'cookie';
  readonly value: string;
}

/** The credential in effect cannot be checked. The reason is for the client. */
export interface Malformed {
  readonly malformed: string;
}

export interface FixedOperation {
  /** A document, or the id of a published document. */
  readonly query?: string;
  readonly documentId?: string;
  readonly variables?: Record<string, unknown>;
  readonly operationName?: string;
}

export interface CredentialUse {
  /** The IP address, or the /64 network of an IPv6 address. */
  readonly address: string;
  readonly userAgent: string | null;
}

export interface Authenticated {
  readonly outcome: 'valid';
  readonly principal: Principal;
  readonly operation?: FixedOperation;
  /** Called once the request is admitted, so that a request rejected by the rate limit writes nothing. */
  readonly used?: (use?: CredentialUse) => void;
  /** Set if the principal is cached and the caller has to verify its session. */
  readonly unverifiedSession?: UnverifiedSession;
}

/** The reason is for the client, the other fields are for the log. */
export interface Invalid extends FailedCredential {
  readonly outcome: 'invalid';
}

export type Resolution = { readonly outcome: 'not-mine' } | Authenticated | Invalid;

export interface ResolveOptions {
  readonly allowUnverified: boolean;
  readonly requestId: string;
  readonly clientAddress: string;
}

export interface AuthStrategy {
  /** A unique name for logs and for the rows of stream tokens. */
  readonly kind: string;
  /**
   * With `allowUnverified`, the caller has to verify an unverified session in the result.
   * @throws {DatabaseError}
   * @throws {KeysUnavailableError}
   * @throws RATE_LIMITED if the credential would create one of too many accounts
   */
  resolve(extracted: ExtractedCredential, options?: ResolveOptions): Promise<Resolution>;
  /**
   * Loads the current principal for an open stream, because the account's role may have changed.
   * @throws {DatabaseError}
   */
  renew(principal: Principal): Promise<Principal | undefined>;
  /** SQL that is true if the credentials behind `t`, a row of `stream_tokens`, are invalid. */
  readonly invalidCredentialSql: string;
}

export type Resolver = Pick<AuthStrategy, 'resolve'>;

export type Authentication = { readonly outcome: 'none' } | Authenticated | Invalid;

interface CredentialFields {
  get(name: 'authorization' | 'cookie'): string | null;
}

export interface CredentialParameters {
  readonly apiKeys: readonly string[];
  readonly streamTokens: readonly string[];
}

const BEARER = /^Bearer +([^\s]+) *$/i;

const NOT_BEARER: Malformed = {
  malformed: 'The Authorization header must have the form "Bearer <token>".',
};
const SEVERAL_KEYS: Malformed = { malformed: 'The request has more than one api_key parameter. Send one.' };
const NOT_ALONE: Malformed = {
  malformed: 'A stream token must be the only credential of its request. Remove the others.',
};
const SEVERAL_COOKIES: Malformed = {
  malformed: 'The request has more than one session cookie. Clear the cookies of this site.',
};

/**
 * Finds the credential in effect: the Authorization header, else the query parameter `api_key`, else the
 * session cookie. A header with a scheme other than Bearer (RFC 6750 §2.1) is in effect and malformed.
 * Several credentials of one kind are malformed, because another reader of the request might pick another
 * one. A stream token allows no second credential except a cookie, which browsers add by themselves.
 */
export function extractCredential(
  headers: CredentialFields,
  { apiKeys, streamTokens }: CredentialParameters,
): ExtractedCredential | Malformed | undefined {
  const authorization = headers.get('authorization');
  const [streamToken, ...otherTokens] = streamTokens;
  if (streamToken !== undefined) {
    const alone = authorization === null && apiKeys.length === 0 && otherTokens.length === 0;
    return alone ? { place: 'stream-token', value: streamToken } : NOT_ALONE;
  }
  if (authorization !== null) {
    const match = BEARER.exec(authorization);
    return match?.[1] === undefined ? NOT_BEARER : { place: 'authorization', value: match[1] };
  }
  const [apiKey, ...otherKeys] = apiKeys;
  if (apiKey !== undefined) return otherKeys.length > 0 ? SEVERAL_KEYS : { place: 'query', value: apiKey };
  return extractSessionCookie(headers);
}

export function extractSessionCookie(headers: CredentialFields): ExtractedCredential | Malformed | undefined {
  const [cookie, ...otherCookies] = cookiesNamed(headers.get('cookie'), SESSION_COOKIE);
  if (cookie === undefined) return undefined;
  return otherCookies.length > 0 ? SEVERAL_COOKIES : { place: 'cookie', value: cookie };
}

/** A credential that no strategy accepts is invalid, never anonymous. */
export async function authenticate(
  extracted: ExtractedCredential | Malformed | undefined,
  strategies: readonly Resolver[],
  options?: ResolveOptions,
): Promise<Authentication> {
  if (extracted === undefined) return { outcome: 'none' };
  if ('malformed' in extracted) return { outcome: 'invalid', kind: 'unknown', reason: extracted.malformed };
  for (const strategy of strategies) {
    const resolution = await strategy.resolve(extracted, options);
    if (resolution.outcome !== 'not-mine') return resolution;
  }
  return {
    outcome: 'invalid',
    kind: 'unknown',
    reason: 'The credential has an unknown format. Check that it is complete.',
  };
}
