import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload } from 'jose';
import type { AuthStrategy, Invalid } from '../../auth/authenticate.ts';
import { looksLikeJwt, type VerifyOptions, verifyJwt } from '../../auth/jwt.ts';
import { hasExpired, overridesOf, type StoredOverrides } from '../../auth/principal.ts';
import { effectiveScopes, type Role } from '../../auth/scopes.ts';
import { createCredentialCache, createUseRecorder, FRESH } from '../../auth/secrets.ts';
import { statement } from '../../database/statement.ts';
import { batchReads } from '../../platform/async.ts';
import { isUuid } from '../../platform/ids.ts';
import { OAUTH_KIND } from './grants.ts';
import type { KeyRing, TokenServices } from './signing-keys.ts';

/** RFC 9068 §2.1 defines this type. */
const TYPE = 'at+jwt';
/** A token without a user has no hash of an authorization. */
export const FAMILY_CLAIM = 'family';

/** A token of this service, after its signature, times and issuer were checked. */
export interface AccessToken {
  /**
   * Token, client, user and authorization, separated by spaces, identify a principal for later look-ups. None of them
   * is secret. The last two are empty if the client acts for its owner. The authorization is a hash.
   */
  readonly name: string;
  readonly jti: string;
  readonly clientId: string;
  /** Undefined if the client acts for its owner. */
  readonly userId: string | undefined;
  readonly scopes: readonly string[];
  /** Unix time in seconds. */
  readonly expiresAt: number;
  readonly claims: JWTPayload;
}

interface AccessTokenState extends StoredOverrides {
  /** The user, or the owner of a client that acts alone. */
  readonly accountId: string;
  readonly role: Role;
  readonly grantId: string | null;
  /** True if the last use of the grant need not be stored again. */
  readonly fresh: boolean;
  readonly invalid: boolean;
}

type StandingRow = AccessTokenState | { readonly [Column in keyof AccessTokenState]: null };

/** The authorization in a token's name, in the alphabet of RFC 4648 §4. */
const BASE64 = `translate(split_part(name, ' ', 4), '-_', '+/')`;
/** The statement returns one row for each token's name, in the given order. */
const STANDINGS = statement<StandingRow>(
  'oauth_standings',
  `SELECT CASE WHEN c.id IS NOT NULL THEN COALESCE(u.id, o.id) END AS "accountId", COALESCE(u.role, o.role) AS role, g.id AS "grantId",
     coalesce(g.last_used_at > now() - ${FRESH}, false) AS "fresh", c.burst, c.per_second AS "perSecond", c.documents,
     (o.disabled_at IS NOT NULL OR u.disabled_at IS NOT NULL OR (a.user_id IS NOT NULL AND (u.id IS NULL OR g.id IS NULL))
       OR EXISTS (SELECT FROM revoked_tokens t WHERE t.jti = a.jti)) AS "invalid"
   FROM (
     SELECT place, split_part(name, ' ', 1) AS jti, split_part(name, ' ', 2)::uuid AS client_id,
       nullif(split_part(name, ' ', 3), '')::uuid AS user_id,
       decode(${BASE64} || repeat('=', -length(${BASE64}) & 3), 'base64') AS family
     FROM unnest($1::text[]) WITH ORDINALITY AS names (name, place)
   ) a
   LEFT JOIN oauth_clients c ON c.id = a.client_id
   LEFT JOIN users o ON o.id = c.owner_id
   LEFT JOIN users u ON u.id = a.user_id
   LEFT JOIN oauth_records f ON f.model = 'Grant' AND f.hash = a.family
   LEFT JOIN oauth_grants g ON g.id = f.grant_id AND g.user_id = u.id AND g.client_id = c.id
   ORDER BY a.place`,
);

type AccessTokenResult =
  | { readonly outcome: 'not-mine' }
  | { readonly outcome: 'valid'; readonly token: AccessToken }
  | { readonly outcome: 'invalid'; readonly reason: string };

/** The service is the only resource (RFC 8707, RFC 9068 §3). */
export function audienceOf(issuer: string): string {
  return `${issuer}/graphql`;
}

const invalid = (reason: string): AccessTokenResult => ({ outcome: 'invalid', reason });
/** External issuers use the same token type. Their tokens need no look-up of a signing key. */
function isOurs(token: string, issuer: string | undefined): boolean {
  if (issuer === undefined) return true;
  try {
    return decodeJwt(token).iss === issuer;
  } catch (error) {
    if (error instanceof errors.JWTInvalid) return false;
    throw error;
  }
}

const text = (value: unknown): value is string => typeof value === 'string';

/** The order of the checks is type and key, signature, database. */
export function createOwnTokens({ database, clock, config }: TokenServices, keys: KeyRing) {
  // Without PUBLIC_URL, any issuer and audience are valid. An origin that changes with the port proves
  // nothing.
  const issuer = config.publicUrl;
  const verification: VerifyOptions = {
    keys: [keys.source],
    issuer,
    audience: issuer === undefined ? undefined : audienceOf(issuer),
  };
  const standingOf = batchReads((names: readonly string[]) => database.query(STANDINGS, [names]));
  return {
    /** @throws {DatabaseError} */
    async check(token: string): Promise<AccessTokenResult> {
      if (!looksLikeJwt(token)) return { outcome: 'not-mine' };
      const { typ, kid } = decodeProtectedHeader(token);
      if (typ !== TYPE || !text(kid) || !isOurs(token, issuer) || (await keys.publicKey(kid)) === undefined)
        return { outcome: 'not-mine' };
      const verified = await verifyJwt(token, verification, clock.now());
      if (!verified.valid) return invalid(verified.reason);
      const claims = verified.payload;
      const { sub, exp, iat, jti, iss, aud, client_id: clientId, scope, [FAMILY_CLAIM]: family } = claims;
      const hasUser = sub !== clientId;
      if (!text(jti) || !text(clientId) || !text(iss) || !text(aud) || iat === undefined)
        return invalid('The token lacks a required claim.');
      if (!isUuid(clientId) || !isUuid(sub) || hasUser !== text(family))
        return invalid('The token has no valid sub claim.');
      const name = [jti, clientId, hasUser ? sub : '', family ?? ''].join(' ');
      const userId = hasUser ? sub : undefined;
      const scopes = text(scope) ? scope.split(' ') : [];
      return { outcome: 'valid', token: { name, jti, clientId, userId, scopes, expiresAt: exp, claims } };
    },
    /**
     * Reads the current state without a cache.
     * @returns undefined if the client was deleted
     * @throws {DatabaseError}
     */
    async standing(name: AccessToken['name']): Promise<AccessTokenState | undefined> {
      const found = await standingOf(name);
      return found.accountId === null ? undefined : found;
    },
  };
}

export type OwnTokens = ReturnType<typeof createOwnTokens>;

const toInvalid = (accountId?: string): Invalid => ({
  outcome: 'invalid',
  kind: OAUTH_KIND,
  reason: 'The access token was revoked, or its client or account was deleted or disabled.',
  accountId,
});

export function createAccessTokenStrategy(
  { database, clock, log }: TokenServices,
  ownTokens: OwnTokens,
): AuthStrategy {
  const known = createCredentialCache<AccessTokenState | undefined>(clock);
  const recordUse = createUseRecorder({
    ...{ database, clock, log, table: 'oauth_grants', usedAt: 'last_used_at' },
    ...{ failure: 'auth.last_used_store_failed', about: { credentialType: 'oauth' } },
  });

  return {
    kind: OAUTH_KIND,
    async resolve({ place, value }) {
      if (place !== 'authorization') return { outcome: 'not-mine' };
      const checked = await ownTokens.check(value);
      if (checked.outcome === 'not-mine') return checked;
      if (checked.outcome === 'invalid') return { ...checked, kind: OAUTH_KIND };
      const { name, scopes, clientId, expiresAt } = checked.token;
      const standing = await known(name, () => ownTokens.standing(name));
      if (standing === undefined || standing.invalid) return toInvalid(standing?.accountId);
      const { accountId, role, grantId, fresh } = standing;
      return {
        outcome: 'valid',
        ...(grantId === null ? {} : { used: () => recordUse(grantId, fresh) }),
        principal: {
          kind: OAUTH_KIND,
          userId: accountId,
          role,
          scopes: effectiveScopes(scopes, role),
          clientId: `${accountId}:oauth:${clientId}`,
          credentialId: name,
          ...overridesOf(standing),
          expiresAtMs: expiresAt * 1000,
        },
      };
    },
    invalidCredentialSql: `EXISTS (SELECT FROM revoked_tokens r WHERE r.jti = split_part(t.credential_id, ' ', 1))
      OR NOT EXISTS (SELECT FROM oauth_clients c LEFT JOIN oauth_grants g ON g.client_id = c.id AND g.user_id = t.user_id
        WHERE c.id = split_part(t.credential_id, ' ', 2)::uuid AND (split_part(t.credential_id, ' ', 3) = '' OR g.id IS NOT NULL))`,
    async renew(principal) {
      if (hasExpired(principal, clock.now())) return undefined;
      const standing = await ownTokens.standing(principal.credentialId ?? '');
      if (standing === undefined || standing.invalid) return undefined;
      const { role } = standing;
      const scopes = effectiveScopes([...principal.scopes], role);
      return { ...principal, role, scopes, ...overridesOf(standing) };
    },
  };
}
