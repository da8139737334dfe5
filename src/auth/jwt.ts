import { decodeProtectedHeader, errors, type JWTHeaderParameters, type JWTPayload, jwtVerify } from 'jose';
import { type Queryable, statement } from '../database/statement.ts';
import { batchReads } from '../platform/async.ts';
import type { Config } from '../platform/config/config.ts';
import type { Clock } from '../platform/deadline.ts';
import { isUuid } from '../platform/ids.ts';
import { isIdentifier } from './accounts.ts';
import type { AuthStrategy, Invalid, ResolveOptions } from './authenticate.ts';
import {
  createIdentities,
  type Identities,
  type IdentityServices,
  parseIdentity,
} from './external-identities.ts';
import { type Algorithm, type KeySource, keySources, type StandingKeys } from './jwt-keys.ts';
import { hasExpired, userClientId } from './principal.ts';
import { effectiveScopes, isScope, type Role, type Scope, scopesOfRole } from './scopes.ts';
import { createCredentialCache, FRESH } from './secrets.ts';

export interface RevokedToken {
  readonly jti: string;
  /**
   * Expiry of the token. Without it, the entry is retained forever, because an issuer may choose any
   * lifetime.
   */
  readonly expiresAt?: Date | undefined;
}

const REVOKE = statement<{ one: number }>(
  'token_revoke',
  'INSERT INTO revoked_tokens (jti, expires_at) VALUES ($1, $2) ON CONFLICT (jti) DO NOTHING RETURNING 1 AS one',
);

/**
 * @returns false if the token was already revoked
 * @throws {DatabaseError}
 */
export async function revokeToken(db: Queryable, { jti, expiresAt }: RevokedToken): Promise<boolean> {
  return (await db.query(REVOKE, [jti, expiresAt ?? null])).length > 0;
}

const ALGORITHMS: readonly Algorithm[] = ['HS256', 'RS256', 'ES256'];

const COMPACT = /^[\w-]+\.[\w-]*\.[\w-]*$/;

/** The signature may be missing. The form is three parts, the first a JSON header. */
export function looksLikeJwt(text: string): boolean {
  if (!COMPACT.test(text)) return false;
  try {
    decodeProtectedHeader(text);
    return true;
  } catch {
    return false;
  }
}

export interface VerifyOptions<Source extends KeySource = KeySource> {
  readonly keys: readonly Source[];
  readonly issuer: string | undefined;
  readonly audience: string | undefined;
}

export type Verification<Source extends KeySource = KeySource> =
  | {
      readonly valid: true;
      readonly payload: JWTPayload & { readonly exp: number; readonly sub: string };
      readonly keyId: string;
      readonly source: Source;
    }
  | { readonly valid: false; readonly reason: string };

const rejected = (reason: string) => ({ valid: false, reason }) as const;

/** The reason must fit into a header (RFC 6750 §3). */
function reasonOf(error: InstanceType<typeof errors.JOSEError>): string {
  if (error instanceof errors.JWTExpired) return 'The token has expired.';
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'nbf') return 'The token is not valid yet (nbf).';
    if (error.claim === 'iss') return 'The issuer of the token (iss) is not accepted.';
    if (error.claim === 'aud') return 'The audience of the token (aud) is not accepted.';
    return `The token has no valid ${error.claim} claim.`;
  }
  if (error instanceof errors.JOSENotSupported) return 'The token has unsupported critical headers.';
  return 'The token is malformed.';
}

/**
 * Checks signature and claims (RFC 7519 §7.2, RFC 8725).
 * @throws {KeysUnavailableError}
 */
export async function verifyJwt<Source extends KeySource>(
  token: string,
  { keys, issuer, audience }: VerifyOptions<Source>,
  nowMs: number,
): Promise<Verification<Source>> {
  const header = decodeProtectedHeader(token) as JWTHeaderParameters;
  const algorithm = ALGORITHMS.find((known) => known === header.alg);
  if (algorithm === undefined) return rejected('The signing algorithm of the token is not accepted.');
  for (const source of keys) {
    for await (const { id: keyId, key } of source.candidates(algorithm, header)) {
      try {
        const verified = await jwtVerify(token, key, {
          algorithms: [algorithm],
          requiredClaims: ['exp', 'sub'],
          currentDate: new Date(nowMs),
          ...(issuer === undefined ? {} : { issuer }),
          ...(audience === undefined ? {} : { audience }),
        });
        const { exp, sub } = verified.payload;
        if (typeof sub !== 'string' || exp === undefined)
          return rejected('The token has no valid sub claim.');
        return { valid: true, payload: { ...verified.payload, exp, sub }, keyId, source };
      } catch (error) {
        if (error instanceof errors.JWSSignatureVerificationFailed) continue;
        if (error instanceof errors.JOSEError) return rejected(reasonOf(error));
        throw error;
      }
    }
  }
  return rejected('The signature of the token does not match any known key.');
}

const KIND = 'jwt';

interface Subject {
  readonly userId: string;
  readonly role: Role;
  readonly invalid: boolean;
  /** Tokens issued before this Unix time in milliseconds are revoked. */
  readonly validFromMs: number | null;
  /** Null if the subject is the id of the account. */
  readonly identityId: string | null;
  /** True if the last use of the identity was stored recently. */
  readonly fresh: boolean;
}

/** The columns for `unnest` in the statement. */
interface SubjectKey {
  /** Null if the subject is no account id. */
  readonly userId: string | null;
  readonly issuer: string | null;
  readonly subject: string | null;
  readonly jti: string | null;
}

/** Returns one row for each key, in the given order. */
const FIND_SUBJECTS = statement<Subject | { readonly userId: null }>(
  'jwt_subjects',
  `SELECT u.id AS "userId", u.role,
     (u.disabled_at IS NOT NULL OR EXISTS (SELECT FROM revoked_tokens t WHERE t.jti = a.jti)) AS "invalid",
     (extract(epoch FROM u.tokens_valid_from) * 1000)::float8 AS "validFromMs",
     e.id AS "identityId", coalesce(e.last_used_at > now() - ${FRESH}, false) AS "fresh"
   FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS a (user_id, issuer, subject, jti, place)
   LEFT JOIN external_identities e ON e.issuer = a.issuer AND e.subject = a.subject
   LEFT JOIN users u ON u.id = coalesce(e.user_id, a.user_id) ORDER BY a.place`,
);

const invalid = (reason: string, accountId?: string): Invalid => ({
  outcome: 'invalid',
  kind: KIND,
  reason,
  accountId,
});

/** A token has the role `admin` only if both its claim and the account have it. */
function effectiveRole(claimed: unknown, held: Role): Role {
  return claimed === 'admin' && held === 'admin' ? 'admin' : 'member';
}

/** RFC 8693 §4.2 defines `scope`, Entra ID and Okta use `scp`, Auth0 uses `permissions`. */
const SCOPE_CLAIMS = ['scope', 'scp', 'permissions'] as const;

/** @returns undefined if the claim is neither a list nor a string with spaces */
function scopesIn(claim: unknown): readonly string[] | undefined {
  if (typeof claim === 'string') return claim.split(' ');
  return Array.isArray(claim) && claim.every((scope) => typeof scope === 'string') ? claim : undefined;
}

/**
 * Each of several claims restricts the token. A `scope` or `scp` next to `permissions` does not count if it
 * names no scope of this service: Auth0 puts OpenID Connect scopes there.
 * @returns undefined if a claim is malformed, because ignoring the claim would grant more than the issuer has
 * granted
 */
function grantedScopes(
  payload: Readonly<Record<string, unknown>>,
  role: Role,
  defaultScopes: readonly string[] = scopesOfRole(role),
): ReadonlySet<Scope> | undefined {
  const names = SCOPE_CLAIMS.filter((name) => payload[name] !== undefined);
  let granted: readonly string[] | undefined;
  for (const name of names) {
    const claim = scopesIn(payload[name]);
    if (claim === undefined) return undefined;
    const restricts = name === 'permissions' || payload.permissions === undefined || claim.some(isScope);
    if (restricts) granted = granted?.filter((scope) => claim.includes(scope)) ?? claim;
  }
  return effectiveScopes(granted ?? defaultScopes, role);
}

/** `iat` has whole seconds, so tokens issued in the first second are rejected. */
function isAccepted({ invalid: isInvalid, validFromMs }: Subject, issuedAtMs: number | undefined): boolean {
  if (isInvalid) return false;
  return validFromMs === null || (issuedAtMs !== undefined && issuedAtMs >= validFromMs);
}

const isOptionalText = (claim: unknown): claim is string | undefined =>
  claim === undefined || typeof claim === 'string';

export interface JwtStrategyOptions extends VerifyOptions<StandingKeys> {
  readonly database: Queryable;
  readonly clock: Clock;
  readonly identities: Identities;
}

/**
 * Resolves JWTs that external issuers sign for accounts of this service. The signature is checked before any
 * query.
 */
export function createJwtStrategy(options: JwtStrategyOptions): AuthStrategy {
  const { database, clock, identities, ...verification } = options;
  const { keys } = verification;
  const known = createCredentialCache<Subject | undefined>(clock);

  const find = batchReads((requested: readonly SubjectKey[]) =>
    database.query(
      FIND_SUBJECTS,
      (['userId', 'issuer', 'subject', 'jti'] as const).map((name) => requested.map((key) => key[name])),
    ),
  );

  async function ask(key: SubjectKey): Promise<Subject | undefined> {
    const row = await find(key);
    return row.userId === null ? undefined : row;
  }

  async function findSubject(
    claims: JWTPayload & { readonly sub: string },
    request: ResolveOptions | undefined,
  ): Promise<Subject | undefined> {
    const { iss, sub, jti = null } = claims;
    const identity = parseIdentity(iss, sub);
    const accountId = sub.toLowerCase();
    const userId = isUuid(accountId) ? accountId : null;
    if (identity === undefined && userId === null) return undefined;
    const key = { userId, issuer: identity?.issuer ?? null, subject: identity?.subject ?? null, jti };
    return known(Object.values(key).join('\0'), async () => {
      const found = await ask(key);
      if (found !== undefined || identity === undefined || request === undefined) return found;
      if (identities.admit === undefined) return undefined;
      await identities.admit(identity, claims, request);
      return ask(key);
    });
  }

  /** Stream tokens of earlier releases do not name a key. */
  async function isKeyValid(keyId: string | undefined): Promise<boolean> {
    if (keyId === undefined) return true;
    for (const source of keys) if (await source.knows(keyId)) return true;
    return false;
  }

  return {
    kind: KIND,
    async resolve({ place, value }, request) {
      if (place !== 'authorization' || !looksLikeJwt(value)) return { outcome: 'not-mine' };
      const verified = await verifyJwt(value, verification, clock.now());
      if (!verified.valid) return invalid(verified.reason);
      const { exp, iat, jti, role } = verified.payload;
      const issuedAtMs = iat === undefined ? undefined : iat * 1000;
      if (!isOptionalText(jti) || (jti !== undefined && !isIdentifier(jti)))
        return invalid('The token has no valid jti claim.');
      const subject = await findSubject(verified.payload, request);
      if (subject === undefined || !isAccepted(subject, issuedAtMs))
        return invalid(
          'The token has been revoked, or its subject is not an account of this service.',
          subject?.userId,
        );
      const { userId, identityId, fresh } = subject;
      const effective = effectiveRole(role, subject.role);
      const scopes = grantedScopes(verified.payload, effective, verified.source.defaultScopes);
      if (scopes === undefined) return invalid('The token has no valid scope claim.', userId);
      return {
        outcome: 'valid',
        principal: {
          kind: KIND,
          userId,
          role: effective,
          scopes,
          clientId: userClientId(userId),
          credentialId: jti,
          keyId: verified.keyId,
          rateLimit: undefined,
          expiresAtMs: exp * 1000,
          ...(issuedAtMs === undefined ? {} : { issuedAtMs }),
        },
        ...(identityId === null ? {} : { used: () => identities.recordUse(identityId, fresh) }),
      };
    },
    invalidCredentialSql: 'EXISTS (SELECT FROM revoked_tokens r WHERE r.jti = t.credential_id)',
    async renew(principal) {
      if (hasExpired(principal, clock.now()) || !(await isKeyValid(principal.keyId))) return undefined;
      const { userId, credentialId: jti = null } = principal;
      const subject = await ask({ userId, issuer: null, subject: null, jti });
      if (subject === undefined || !isAccepted(subject, principal.issuedAtMs)) return undefined;
      const role = effectiveRole(principal.role, subject.role);
      return { ...principal, role, scopes: effectiveScopes([...principal.scopes], role) };
    },
  };
}

export function createJwtStrategies(services: IdentityServices, settings: Config['jwt']): AuthStrategy[] {
  const { issuer, audience, accounts } = settings;
  const keys = keySources(settings, services);
  if (keys.length === 0) return [];
  const identities = createIdentities(services, accounts);
  return [createJwtStrategy({ ...services, identities, keys, issuer, audience })];
}
