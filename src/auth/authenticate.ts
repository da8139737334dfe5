import type { Parameter } from '../database/statement.ts';
import type { Principal } from './principal.ts';
import type { FailedCredential } from './security-log.ts';

/** What tokens are made of (RFC 9110 section 5.6.2), the names of cookies among them. */
const TOKEN_CHARACTER = /[\w!#$%&'*+.^`|~-]/;

/** `text` without the characters at its ends that are not `inner`. In linear time, unlike an expression with `+$`. */
function strip(text: string, inner: (character: string) => boolean): string {
  let [start, end] = [0, text.length];
  while (start < end && !inner(text.charAt(start))) start += 1;
  while (end > start && !inner(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

const withoutSpace = (text: string) => strip(text, (character) => character !== ' ' && character !== '\t');
const bareName = (text: string) => strip(text, (character) => TOKEN_CHARACTER.test(character));

/**
 * The values of the cookies named `name` in a Cookie header (RFC 6265 section 4.2.1), and those of all that pass for
 * it beside one: names that become it when other characters than space and tab are trimmed, or in other letters. A
 * neighbouring host may set such a cookie where browsers protect the name itself (`__Host-`), and it may have planted
 * any of several (section 8.6): none of them can be trusted. What only passes for it, alone, is another cookie.
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

/** The cookie of contract section 3. */
export const SESSION_COOKIE = 'session_id';
const SESSION_COOKIE_ATTRIBUTES = 'HttpOnly; Secure; SameSite=Strict; Path=/';

/** Sets the cookie until the browser is closed: the server knows when the session expires, not the cookie. */
export function setSessionCookie(id: string): string {
  return `${SESSION_COOKIE}=${id}; ${SESSION_COOKIE_ATTRIBUTES}`;
}

/** Deletes the cookie (RFC 6265 section 3.1). */
export const CLEAR_SESSION_COOKIE = `${SESSION_COOKIE}=; ${SESSION_COOKIE_ATTRIBUTES}; Max-Age=0`;

/** True if the last use was stored recently; null if the credentials are not as cached. */
export type CredentialCheckResult = boolean | null;

/** How cached credentials are verified. */
export interface CredentialCheck {
  /** Checks of a kind have the same SQL. */
  readonly kind: string;
  /** SQL of a scalar of type Found. It is given the numbers of its parameters, such as `$1`. */
  sql(...numbers: readonly string[]): string;
  /** The values of its parameters. */
  readonly values: readonly Parameter[];
  /** Looks the credentials up in a separate statement. Rejects with DatabaseError. */
  lookUp(): Promise<CredentialCheckResult>;
  /** Called once, with whether the request was admitted, and so used the credentials. */
  onFound(found: CredentialCheckResult, used: boolean): void;
}

/**
 * A session that this instance has cached with an earlier request, and that may be revoked or expired since. No operation
 * changes anything, and no response is sent, before the session is verified by the statement that reads the response, or by
 * a look-up (decisions/0035-provisional-sessions.md).
 */
export class UnverifiedSession {
  readonly check: CredentialCheck;
  #isValid: boolean | undefined;
  #used = false;
  #looking: Promise<CredentialCheckResult> | undefined;

  constructor(check: CredentialCheck) {
    this.check = check;
  }

  /** True until the session was checked. */
  get isPending(): boolean {
    return this.#isValid === undefined;
  }

  readonly use = (): void => {
    this.#used = true;
  };

  /** Takes what a statement found. Returns true if the session is valid and no earlier check has found it invalid. */
  verify(found: CredentialCheckResult): boolean {
    if (this.#isValid === undefined) {
      this.#isValid = found !== null;
      this.check.onFound(found, this.#used);
    }
    return this.#isValid && found !== null;
  }

  /** Returns true if the session is valid. Looks it up once, unless a statement has checked it. Rejects with DatabaseError. */
  async verifyByLookUp(): Promise<boolean> {
    if (this.#isValid !== undefined) return this.#isValid;
    this.#looking ??= this.check.lookUp();
    return this.verify(await this.#looking);
  }
}

/** The credential in effect, and where the request has it. Others are ignored (contract section 3). */
export interface ExtractedCredential {
  readonly place: 'stream-token' | 'authorization' | 'query' | 'cookie';
  readonly value: string;
}

/** A credential in effect that cannot be checked, with the reason for the client. */
export interface Malformed {
  readonly malformed: string;
}

/** The subscription that a stream token opens. */
export interface FixedOperation {
  /** Its text, or the id of a published document. */
  readonly query?: string;
  readonly documentId?: string;
  readonly variables?: Record<string, unknown>;
  readonly operationName?: string;
}

/** Where a credential is used. */
export interface CredentialUse {
  /** The IP address, or the /64 of IPv6. */
  readonly address: string;
  readonly userAgent: string | null;
}

/** A valid credential. */
export interface Authenticated {
  readonly outcome: 'valid';
  readonly principal: Principal;
  /** The only operation that the credential allows. */
  readonly operation?: FixedOperation;
  /** Records the use. Called once the request is admitted: one rejected by the rate limit writes nothing. */
  readonly used?: (use?: CredentialUse) => void;
  /** Set if the principal is cached and its session has to be verified. */
  readonly unverifiedSession?: UnverifiedSession;
}

/** An invalid credential: the reason is for the client, the rest for the log. */
export interface Invalid extends FailedCredential {
  readonly outcome: 'invalid';
}

/** A strategy's verdict: not its kind of credential, valid, or invalid. */
export type Resolution = { readonly outcome: 'not-mine' } | Authenticated | Invalid;

export interface ResolveOptions {
  readonly allowUnverified: boolean;
}

/** Authenticates one kind of credential. A feature that issues credentials brings its own strategy. */
export interface AuthStrategy {
  /** Its name in logs and in the rows of stream tokens: no other strategy has it. */
  readonly kind: string;
  /**
   * With `allowUnverified`, the result may be an unverified session, which the caller has to verify. Throws DatabaseError,
   * and KeysUnavailableError if the keys to verify a token with are unavailable.
   */
  resolve(extracted: ExtractedCredential, options?: ResolveOptions): Promise<Resolution>;
  /**
   * The current principal of this kind, for an open stream: its account may have another role since. Undefined if its
   * credentials are revoked or expired. Throws DatabaseError.
   */
  renew(principal: Principal): Promise<Principal | undefined>;
  /** SQL: true if the credentials behind `t`, a row of `stream_tokens`, are revoked or expired. */
  readonly invalidCredentialSql: string;
}

/** What a request needs of a strategy. */
export type Resolver = Pick<AuthStrategy, 'resolve'>;

export type Authentication = { readonly outcome: 'none' } | Authenticated | Invalid;

/** The header fields that can have credentials. */
interface CredentialFields {
  get(name: 'authorization' | 'cookie'): string | null;
}

/** The credentials among the query parameters of a request. */
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
 * The credential in effect: the Authorization header, else the query parameter `api_key`, else the session
 * cookie. A header with a scheme other than Bearer (RFC 6750 section 2.1) is in effect and malformed. So are
 * several of one kind: another reader of the request might pick another. A stream token comes alone, but for a
 * cookie, which browsers add by themselves.
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

/** The session cookie. */
export function extractSessionCookie(headers: CredentialFields): ExtractedCredential | Malformed | undefined {
  const [cookie, ...otherCookies] = cookiesNamed(headers.get('cookie'), SESSION_COOKIE);
  if (cookie === undefined) return undefined;
  return otherCookies.length > 0 ? SEVERAL_COOKIES : { place: 'cookie', value: cookie };
}

/** Tries the strategies one after the other. A credential that no strategy accepts is invalid, never anonymous. */
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
