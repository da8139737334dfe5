import type { Invalid, Recognizer } from '../../auth/authenticate.ts';
import { createLastUse } from '../../auth/last-use.ts';
import { createCredentialCache } from '../../auth/look-up.ts';
import { hasExpired, overridesOf } from '../../auth/principal.ts';
import { effectiveScopes } from '../../auth/scopes.ts';
import { OAUTH_KIND } from '../records/grants.ts';
import type { OwnTokens, Reference, Standing } from './access-token.ts';
import type { KeyRingOptions } from './signing-keys.ts';

export interface OAuthRecognizerOptions extends Omit<KeyRingOptions, 'config'> {
  readonly ownTokens: OwnTokens;
}

/** Identifies a principal for later look-ups: token, client, user, authorization. None of it is secret. */
const nameOf = ({ jti, clientId, userId, family }: Reference): string =>
  [jti, clientId, userId ?? '', family?.toString('base64url') ?? ''].join(' ');

function referenceOf(name: string): Reference {
  const [jti = '', clientId = '', userId = '', family = ''] = name.split(' ');
  return {
    jti,
    clientId,
    userId: userId === '' ? undefined : userId,
    family: family === '' ? undefined : Buffer.from(family, 'base64url'),
  };
}

const ended = (accountId?: string): Invalid => ({
  outcome: 'invalid',
  kind: OAUTH_KIND,
  reason: 'The access token has been revoked, or its client or account is gone.',
  accountId,
});

/** Resolves the access tokens that the service issues, for users and for clients acting on their own. */
export function oauthRecognizer({ ownTokens, database, clock, log }: OAuthRecognizerOptions): Recognizer {
  const known = createCredentialCache<Standing | undefined>(clock);
  const grants = { what: 'an OAuth grant', table: 'oauth_grants', usedAt: 'last_used_at' };
  const noteUse = createLastUse({ database, clock, log, ...grants });

  return {
    kind: OAUTH_KIND,
    async resolve({ place, value }) {
      if (place !== 'authorization') return { outcome: 'not-mine' };
      const checked = await ownTokens.check(value);
      if (checked.outcome === 'not-mine') return checked;
      if (checked.outcome === 'invalid') return { ...checked, kind: OAUTH_KIND };
      const { token } = checked;
      const name = nameOf(token);
      const standing = await known(name, () => ownTokens.standing(token));
      if (standing === undefined || standing.ended) return ended(standing?.accountId);
      const { accountId, role, grantId, fresh } = standing;
      return {
        outcome: 'valid',
        ...(grantId === null ? {} : { used: () => noteUse(grantId, fresh) }),
        principal: {
          kind: OAUTH_KIND,
          userId: accountId,
          role,
          scopes: effectiveScopes(token.scopes, role),
          clientId: `${accountId}:oauth:${token.clientId}`,
          credentialId: name,
          ...overridesOf(standing),
          expiresAtMs: token.expiresAt * 1000,
        },
      };
    },
    endedBehind: `EXISTS (SELECT FROM revoked_tokens r WHERE r.jti = split_part(t.credential_id, ' ', 1))
      OR NOT EXISTS (SELECT FROM oauth_clients c LEFT JOIN oauth_grants g ON g.client_id = c.id AND g.user_id = t.user_id
        WHERE c.id = split_part(t.credential_id, ' ', 2)::uuid AND (split_part(t.credential_id, ' ', 3) = '' OR g.id IS NOT NULL))`,
    async renew(principal) {
      if (hasExpired(principal, clock.now())) return undefined;
      const standing = await ownTokens.standing(referenceOf(principal.credentialId ?? ''));
      if (standing === undefined || standing.ended) return undefined;
      const { role } = standing;
      const scopes = effectiveScopes([...principal.scopes], role);
      return { ...principal, role, scopes, ...overridesOf(standing) };
    },
  };
}
