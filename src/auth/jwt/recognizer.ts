import type { Clock } from '../../platform/clock.ts';
import type { Config } from '../../platform/config.ts';
import { gathered } from '../../platform/db/gathered.ts';
import { type Queryable, statement } from '../../platform/db/statement.ts';
import { isUuid } from '../../platform/uuid.ts';
import type { Invalid, Recognizer } from '../authenticate.ts';
import { createCredentialCache, type SecretServices } from '../look-up.ts';
import { hasExpired, userClientId } from '../principal.ts';
import { effectiveScopes, isScope, type Role, type Scope, scopesOfRole } from '../scopes.ts';
import { isRevocable } from './blocklist.ts';
import type { StandingKeys } from './key-source.ts';
import { keySources } from './keys.ts';
import { looksLikeJwt, type VerifyOptions, verifyJwt } from './verify.ts';

const KIND = 'jwt';

interface SubjectRow {
  /** Null if there is no such account. */
  readonly role: Role | null;
  readonly ended: boolean;
  /** Tokens issued before this Unix time in milliseconds have ended; null: none. */
  readonly validFromMs: number | null;
}

type Subject = SubjectRow & { readonly role: Role };

/** One row for each pair of an account and a token, in their order. */
const FIND_SUBJECTS = statement<SubjectRow>(
  'jwt_subjects',
  `SELECT u.role, (u.disabled_at IS NOT NULL OR EXISTS (SELECT FROM revoked_tokens t WHERE t.jti = a.jti)) AS "ended",
     (extract(epoch FROM u.tokens_valid_from) * 1000)::float8 AS "validFromMs"
   FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS a (user_id, jti, place) LEFT JOIN users u ON u.id = a.user_id
   ORDER BY a.place`,
);

const invalid = (reason: string, accountId?: string): Invalid => ({
  outcome: 'invalid',
  kind: KIND,
  reason,
  accountId,
});

/** The role of the token: admin only if both its claim and the account say so. */
function effectiveRole(claimed: unknown, held: Role): Role {
  return claimed === 'admin' && held === 'admin' ? 'admin' : 'member';
}

/** Claims with scopes: of RFC 8693 section 4.2, of Entra ID and Okta, and of Auth0. */
const SCOPE_CLAIMS = ['scope', 'scp', 'permissions'] as const;

/** The scopes in a claim, as a string with spaces or as a list; undefined if the claim has neither form. */
function scopesIn(claim: unknown): readonly string[] | undefined {
  if (typeof claim === 'string') return claim.split(' ');
  return Array.isArray(claim) && claim.every((scope) => typeof scope === 'string') ? claim : undefined;
}

/**
 * The scopes that a token grants. Of several claims, each restricts the token, except a `scope` or `scp` beside `permissions`
 * that names no scope of this service: Auth0 has scopes of OpenID Connect there. Undefined if a claim is malformed, because
 * ignoring a restriction would grant more than the issuer has granted.
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

/** Whether the account accepts a token issued then. `iat` has whole seconds: tokens of the first second are refused. */
function isAccepted({ ended, validFromMs }: SubjectRow, issuedAtMs: number | undefined): boolean {
  if (ended) return false;
  return validFromMs === null || (issuedAtMs !== undefined && issuedAtMs >= validFromMs);
}

const isOptionalText = (claim: unknown): claim is string | undefined =>
  claim === undefined || typeof claim === 'string';

export interface JwtRecognizerOptions extends VerifyOptions<StandingKeys> {
  readonly database: Queryable;
  readonly clock: Clock;
}

/** Resolves JWTs that others issue for this service's accounts. The signature is checked before any query. */
export function jwtRecognizer({ database, clock, ...verification }: JwtRecognizerOptions): Recognizer {
  const { keys } = verification;
  const known = createCredentialCache<Subject | undefined>(clock);

  const find = gathered((asked: readonly { readonly userId: string; readonly jti: string | null }[]) =>
    database.query(FIND_SUBJECTS, [asked.map(({ userId }) => userId), asked.map(({ jti }) => jti)]),
  );

  async function ask(userId: string, jti: string | undefined): Promise<Subject | undefined> {
    const { role, ...row } = await find({ userId, jti: jti ?? null });
    return role === null ? undefined : { role, ...row };
  }

  /** Whether the issuer still vouches for the key. Stream tokens of earlier releases do not name it. */
  async function isStanding(keyId: string | undefined): Promise<boolean> {
    if (keyId === undefined) return true;
    for (const source of keys) if (await source.knows(keyId)) return true;
    return false;
  }

  return {
    kind: KIND,
    async resolve({ place, value }) {
      if (place !== 'authorization' || !looksLikeJwt(value)) return { outcome: 'not-mine' };
      const verified = await verifyJwt(value, verification, clock.now());
      if (!verified.valid) return invalid(verified.reason);
      const { sub, exp, iat, jti, role } = verified.payload;
      const issuedAtMs = iat === undefined ? undefined : iat * 1000;
      if (!isOptionalText(jti) || (jti !== undefined && !isRevocable(jti)))
        return invalid('The token has no valid jti claim.');
      const userId = sub.toLowerCase();
      const subject = isUuid(userId)
        ? await known(`${userId} ${jti ?? ''}`, () => ask(userId, jti))
        : undefined;
      if (subject === undefined || !isAccepted(subject, issuedAtMs))
        return invalid(
          'The token has been revoked, or its subject is not an account of this service.',
          subject && userId,
        );
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
      };
    },
    endedBehind: 'EXISTS (SELECT FROM revoked_tokens r WHERE r.jti = t.credential_id)',
    async renew(principal) {
      if (hasExpired(principal, clock.now()) || !(await isStanding(principal.keyId))) return undefined;
      const subject = await ask(principal.userId, principal.credentialId);
      if (subject === undefined || !isAccepted(subject, principal.issuedAtMs)) return undefined;
      const role = effectiveRole(principal.role, subject.role);
      return { ...principal, role, scopes: effectiveScopes([...principal.scopes], role) };
    },
  };
}

/** A recognizer for the keys that the settings name, if they name any. */
export function jwtRecognizers(
  { database, clock, log }: SecretServices,
  settings: Config['jwt'],
): Recognizer[] {
  const { issuer, audience } = settings;
  const keys = keySources(settings, { clock, log });
  return keys.length === 0 ? [] : [jwtRecognizer({ database, clock, keys, issuer, audience })];
}
