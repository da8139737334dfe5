import { decodeJwt, decodeProtectedHeader, errors } from 'jose';
import { looksLikeJwt, type VerifyOptions, verifyJwt } from '../../auth/jwt/verify.ts';
import { FRESH } from '../../auth/last-use.ts';
import type { StoredOverrides } from '../../auth/principal.ts';
import type { Role } from '../../auth/scopes.ts';
import { byteaText } from '../../auth/secret-format.ts';
import type { Clock } from '../../platform/clock.ts';
import { gathered } from '../../platform/db/gathered.ts';
import { type Queryable, statement } from '../../platform/db/statement.ts';
import { isUuid } from '../../platform/uuid.ts';
import type { KeyRing } from './signing-keys.ts';

/** The type of an access token (RFC 9068 section 2.1). */
const TYPE = 'at+jwt';
/** The claim with the hash of the authorization behind a token, for revocation. Absent without a user. */
export const FAMILY_CLAIM = 'family';

/** The claims of a token of this service, once its signature, times and issuer have been checked. */
export interface AccessToken {
  readonly jti: string;
  readonly clientId: string;
  /** The user it was issued for; undefined if the client acts for its owner. */
  readonly userId: string | undefined;
  /** The hash of its authorization; only with a user. */
  readonly family: Buffer | undefined;
  readonly scopes: readonly string[];
  readonly issuedAt: number;
  /** Unix time in seconds. */
  readonly expiresAt: number;
  readonly issuer: string;
  readonly audience: string;
}

/** The current state of what a token depends on. */
export interface Standing extends StoredOverrides {
  /** The account that acts: the user, or the owner of the client. */
  readonly accountId: string;
  readonly role: Role;
  readonly grantId: string | null;
  /** Whether the last use of the grant was stored so recently that it need not be stored again. */
  readonly fresh: boolean;
  readonly ended: boolean;
}

type StandingRow = Standing | { readonly [Column in keyof Standing]: null };

/**
 * A token ends with its jti, its authorization, its user, its client, and the owner of the client. One row for each
 * token, in their order.
 */
const STANDINGS = statement<StandingRow>(
  'oauth_standings',
  `SELECT CASE WHEN c.id IS NOT NULL THEN COALESCE(u.id, o.id) END AS "accountId", COALESCE(u.role, o.role) AS role, g.id AS "grantId",
     coalesce(g.last_used_at > now() - ${FRESH}, false) AS "fresh", c.burst, c.per_second AS "perSecond", c.documents,
     (o.disabled_at IS NOT NULL OR u.disabled_at IS NOT NULL OR (a.user_id IS NOT NULL AND (u.id IS NULL OR g.id IS NULL))
       OR EXISTS (SELECT FROM revoked_tokens t WHERE t.jti = a.jti)) AS "ended"
   FROM unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::text[]) WITH ORDINALITY AS a (client_id, user_id, family, jti, place)
   LEFT JOIN oauth_clients c ON c.id = a.client_id
   LEFT JOIN users o ON o.id = c.owner_id
   LEFT JOIN users u ON u.id = a.user_id
   LEFT JOIN oauth_records f ON f.model = 'Grant' AND f.hash = a.family
   LEFT JOIN oauth_grants g ON g.id = f.grant_id AND g.user_id = u.id AND g.client_id = c.id
   ORDER BY a.place`,
);

export type Checked =
  | { readonly outcome: 'not-mine' }
  | { readonly outcome: 'valid'; readonly token: AccessToken }
  | { readonly outcome: 'invalid'; readonly reason: string };

/** The service's own access tokens: recognised by type and key, checked, looked up. */
export interface OwnTokens {
  /** Throws DatabaseError. */
  check(token: string): Promise<Checked>;
  /** Undefined if the client is gone. Never cached. Throws DatabaseError. */
  standing(token: Reference): Promise<Standing | undefined>;
}

/** What a token depends on. */
export type Reference = Pick<AccessToken, 'jti' | 'clientId' | 'userId' | 'family'>;

export interface OwnTokensOptions {
  readonly database: Queryable;
  readonly keys: KeyRing;
  readonly clock: Clock;
  /**
   * If set, tokens of another issuer or audience are refused. An origin that changes with the port proves
   * nothing.
   */
  readonly issuer: string | undefined;
}

/** The audience of tokens: the only resource there is (RFC 8707, RFC 9068 section 3). */
export function audienceOf(issuer: string): string {
  return `${issuer}/graphql`;
}

const invalid = (reason: string): Checked => ({ outcome: 'invalid', reason });
/** Others issue tokens of this type too; theirs skip the look-up of a key that is not here. */
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

export function createOwnTokens({ database, keys, clock, issuer }: OwnTokensOptions): OwnTokens {
  const verification: VerifyOptions = {
    keys: [keys.source],
    issuer,
    audience: issuer === undefined ? undefined : audienceOf(issuer),
  };
  const standingOf = gathered((tokens: readonly Reference[]) =>
    database.query(STANDINGS, [
      tokens.map(({ clientId }) => clientId),
      tokens.map(({ userId }) => userId ?? null),
      tokens.map(({ family }) => (family === undefined ? null : byteaText(family))),
      tokens.map(({ jti }) => jti),
    ]),
  );
  return {
    async check(token) {
      if (!looksLikeJwt(token)) return { outcome: 'not-mine' };
      const { typ, kid } = decodeProtectedHeader(token);
      if (typ !== TYPE || !text(kid) || !isOurs(token, issuer) || (await keys.publicKey(kid)) === undefined)
        return { outcome: 'not-mine' };
      const verified = await verifyJwt(token, verification, clock.now());
      if (!verified.valid) return invalid(verified.reason);
      const {
        sub,
        exp,
        iat,
        jti,
        iss,
        aud,
        client_id: clientId,
        scope,
        [FAMILY_CLAIM]: family,
      } = verified.payload;
      const hasUser = sub !== clientId;
      if (!text(jti) || !text(clientId) || !text(iss) || !text(aud) || iat === undefined)
        return invalid('The token lacks a required claim.');
      if (!isUuid(clientId) || !isUuid(sub) || hasUser !== text(family))
        return invalid('The token has no valid sub claim.');
      return {
        outcome: 'valid',
        token: {
          jti,
          clientId,
          userId: hasUser ? sub : undefined,
          family: text(family) ? Buffer.from(family, 'base64url') : undefined,
          scopes: text(scope) ? scope.split(' ') : [],
          issuedAt: iat,
          expiresAt: exp,
          issuer: iss,
          audience: aud,
        },
      };
    },
    async standing(token) {
      const found = await standingOf(token);
      return found.accountId === null ? undefined : found;
    },
  };
}
