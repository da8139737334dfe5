import type { Clock } from '../../platform/clock.ts';
import { type Queryable, statement } from '../../platform/db/statement.ts';
import { isUuid } from '../../platform/uuid.ts';
import type { CredentialResolver, Resolution } from '../authenticate.ts';
import { createCredentialCache } from '../credential-cache.ts';
import { userClientId } from '../principal.ts';
import { effectiveScopes, type Role, type Scope, scopesOfRole } from '../scopes.ts';
import { isRevocable } from './blocklist.ts';
import { looksLikeJwt, type VerifyOptions, verifyJwt } from './verify.ts';

interface SubjectRow {
  readonly role: Role;
  readonly ended: boolean;
}

const FIND_SUBJECT = statement<SubjectRow>(
  'jwt_subject',
  `SELECT u.role, (u.disabled_at IS NOT NULL OR EXISTS (SELECT FROM revoked_tokens t WHERE t.jti = $2)) AS "ended"
   FROM users u WHERE u.id = $1`,
);

const invalid = (reason: string): Resolution => ({ outcome: 'invalid', reason });

/** The role of the token: admin only if both its claim and the account say so. */
function effectiveRole(claimed: unknown, held: Role): Role {
  return claimed === 'admin' && held === 'admin' ? 'admin' : 'member';
}

/**
 * The scopes that the `scope` claim (RFC 8693 section 4.2) grants; without it, all that the role can hold.
 */
function grantedScopes(scope: string | undefined, role: Role): ReadonlySet<Scope> {
  return scope === undefined ? new Set(scopesOfRole(role)) : effectiveScopes(scope.split(' '), role);
}

const isOptionalText = (claim: unknown): claim is string | undefined =>
  claim === undefined || typeof claim === 'string';

export interface JwtResolverOptions extends VerifyOptions {
  readonly database: Queryable;
  readonly clock: Clock;
}

/** Resolves JWTs that others issue for this service's accounts. The signature is checked before any query. */
export function jwtResolver({ database, clock, ...verification }: JwtResolverOptions): CredentialResolver {
  const known = createCredentialCache<SubjectRow | undefined>(clock);

  const ask = async (userId: string, jti: string | undefined) =>
    (await database.query(FIND_SUBJECT, [userId, jti ?? null]))[0];

  return {
    kind: 'jwt',
    async resolve({ place, value }) {
      if (place !== 'authorization' || !looksLikeJwt(value)) return { outcome: 'not-mine' };
      const verified = await verifyJwt(value, verification, clock.now());
      if (!verified.valid) return invalid(verified.reason);
      const { sub, exp, jti, role, scope } = verified.payload;
      if (!isOptionalText(scope)) return invalid('The token has no valid scope claim.');
      if (!isOptionalText(jti) || (jti !== undefined && !isRevocable(jti)))
        return invalid('The token has no valid jti claim.');
      const userId = sub.toLowerCase();
      const subject = isUuid(userId)
        ? await known(`${userId} ${jti ?? ''}`, () => ask(userId, jti))
        : undefined;
      if (subject === undefined || subject.ended)
        return invalid('The token has been revoked, or its subject is not an account of this service.');
      const effective = effectiveRole(role, subject.role);
      return {
        outcome: 'valid',
        principal: {
          kind: 'jwt',
          userId,
          role: effective,
          scopes: grantedScopes(scope, effective),
          clientId: userClientId(userId),
          credentialId: jti,
          rateLimit: undefined,
          expiresAtMs: exp * 1000,
        },
      };
    },
    async renew(principal) {
      const subject = await ask(principal.userId, principal.credentialId);
      if (subject === undefined || subject.ended) return undefined;
      const role = effectiveRole(principal.role, subject.role);
      return { ...principal, role, scopes: effectiveScopes([...principal.scopes], role) };
    },
  };
}
