import { audit } from '../../auth/audit.ts';
import { defineExportSection, type ExportSection } from '../../auth/data-export.ts';
import {
  type CredentialRevocation,
  deleteSurplus,
  inAccountsSql,
  revocationStatement,
} from '../../auth/revocation.ts';
import type { ClientScope } from '../../auth/scopes.ts';
import { type Queryable, statement } from '../../database/statement.ts';
import type { UnitOfWork } from '../../database/unit-of-work.ts';
import { newId } from '../../platform/ids.ts';

export const OAUTH_KIND = 'oauth';

interface Allowed {
  readonly scopes: string[];
}

const FIND = statement<Allowed>(
  'oauth_grant',
  'SELECT scopes FROM oauth_grants WHERE user_id = $1 AND client_id = $2',
);
/**
 * A deleted client gets nothing, and a revoked or expired session gives nothing. Sessions are revoked before
 * grants: either this statement misses the session, or the revocation finds the grant.
 */
const ALLOW = statement<{ id: string }>(
  'oauth_grant_allow',
  `INSERT INTO oauth_grants (id, user_id, client_id, scopes, created_at)
   SELECT $1, s.user_id, c.id, $4::text[], now() FROM oauth_clients c, sessions s
   WHERE c.id = $3 AND s.id = $5 AND s.user_id = $2
   FOR KEY SHARE OF c, s
   ON CONFLICT (user_id, client_id) DO UPDATE
   SET scopes = ARRAY(SELECT s FROM unnest(oauth_grants.scopes || excluded.scopes) WITH ORDINALITY AS a (s, place)
     GROUP BY s ORDER BY min(place))
   RETURNING id`,
);

export interface Consent {
  readonly userId: string;
  readonly clientId: string;
  readonly scopes: readonly ClientScope[];
}

/** @throws {DatabaseError} */
export async function isAllowed(db: Queryable, { userId, clientId, scopes }: Consent): Promise<boolean> {
  const [allowed] = await db.query(FIND, [userId, clientId]);
  return allowed !== undefined && scopes.every((scope) => allowed.scopes.includes(scope));
}

/**
 * @returns false if the user's session is revoked or expired, or if the client was deleted
 * @throws {DatabaseError}
 */
export async function allow(
  work: UnitOfWork,
  { userId, clientId, scopes }: Consent,
  sessionId: string,
): Promise<boolean> {
  const [grant] = await work.query(ALLOW, [newId(), userId, clientId, scopes, sessionId]);
  if (grant === undefined) return false;
  await audit(work, 'oauth-grant.allow', grant.id, { account: userId, client: clientId, scopes });
  return true;
}

const REVOKE = statement<{ clientId: string }>(
  'oauth_grant_revoke',
  'DELETE FROM oauth_grants WHERE id = $1 AND user_id = $2 RETURNING client_id AS "clientId"',
);

/**
 * Every token issued from the grant is revoked.
 * @returns the client's id; undefined if the grant does not exist
 * @throws {DatabaseError}
 */
export async function revokeOAuthGrant(
  db: Queryable,
  id: string,
  userId: string,
): Promise<string | undefined> {
  return (await db.query(REVOKE, [id, userId]))[0]?.clientId;
}

/**
 * Authorizations depend on grants, and grants on clients, in any number. A grant or client is deleted as soon
 * as nothing depends on it, so that later batches need not scan empty ones.
 */
const authorizations = (of: string) =>
  deleteSurplus(
    'oauth_records',
    of,
    'model, hash',
    'oauth_records r JOIN oauth_grants g ON g.id = r.grant_id',
  );
const grants = (of: string) =>
  deleteSurplus(
    'oauth_grants',
    `${of} AND NOT EXISTS (SELECT FROM oauth_records r WHERE r.grant_id = g.id)`,
    'id',
    'oauth_grants g',
  );
const ITS_OWN = inAccountsSql('g.user_id');
const OF_ITS_CLIENTS = `g.client_id IN (SELECT c.id FROM oauth_clients c WHERE ${inAccountsSql('c.owner_id')})`;

export const grantRevocation: CredentialRevocation = {
  kind: 'oauthGrants',
  words: 'OAuth grants',
  onPasswordChange: true,
  // Tokens of a client that acts alone have no user.
  separately: {
    option: 'oauth-grants',
    streamTokens: `t.credential_kind = '${OAUTH_KIND}' AND split_part(t.credential_id, ' ', 3) <> ''`,
  },
  all: revocationStatement('account_end_grants', `DELETE FROM oauth_grants WHERE ${inAccountsSql()}`),
  surplus: [authorizations(ITS_OWN), grants(ITS_OWN)],
};

export const clientRevocation: CredentialRevocation = {
  kind: 'oauthClients',
  words: 'OAuth clients',
  onPasswordChange: false,
  all: revocationStatement(
    'account_end_clients',
    `DELETE FROM oauth_clients WHERE ${inAccountsSql('owner_id')}`,
  ),
  surplus: [
    authorizations(OF_ITS_CLIENTS),
    grants(OF_ITS_CLIENTS),
    deleteSurplus(
      'oauth_clients',
      `${inAccountsSql('owner_id')} AND NOT EXISTS (SELECT FROM oauth_grants g WHERE g.client_id = c.id)`,
      'id',
      'oauth_clients c',
    ),
  ],
};

/** The export excludes grants that other accounts have given to the account's clients. */
export const oauthExportSections: readonly ExportSection[] = [
  defineExportSection({
    name: 'oauthClients',
    tables: ['oauth_clients'],
    alias: 'c',
    owner: 'owner_id',
    columns: `c.id, c.name, c.grants, c.scopes, c.redirect_uris AS "redirectUris",
       c.post_logout_redirect_uris AS "postLogoutRedirectUris", c.created_at AS "createdAt",
       c.burst, c.per_second AS "perSecond", c.documents`,
  }),
  defineExportSection({
    name: 'oauthGrants',
    tables: ['oauth_grants', 'oauth_records'],
    alias: 'g',
    join: 'JOIN oauth_clients c ON c.id = g.client_id',
    columns: `g.id, c.name AS "client", g.scopes, g.created_at AS "createdAt", g.last_used_at AS "lastUsedAt",
       ARRAY(SELECT r.expires_at FROM oauth_records r WHERE r.grant_id = g.id ORDER BY r.expires_at) AS "authorizedUntil"`,
  }),
];
