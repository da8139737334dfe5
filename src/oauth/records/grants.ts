import { audit } from '../../audit/audit.ts';
import type { Scope } from '../../auth/scopes.ts';
import { type Queryable, statement } from '../../platform/db/statement.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { newId } from '../../platform/uuid.ts';

/** Names the service's own access tokens among all credentials. */
export const OAUTH_KIND = 'oauth';

interface Allowed {
  readonly scopes: string[];
}

const FIND = statement<Allowed>(
  'oauth_grant',
  'SELECT scopes FROM oauth_grants WHERE user_id = $1 AND client_id = $2',
);
/**
 * Adds to the scopes allowed before. A client deleted meanwhile gets nothing, and a session that has ended gives nothing:
 * whoever ends sessions and grants ends the sessions first, so either the session is missed here or the grant is found
 * there.
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
  readonly scopes: readonly Scope[];
}

/** Whether the user has already allowed the client all of the scopes. Throws DatabaseError. */
export async function isAllowed(db: Queryable, { userId, clientId, scopes }: Consent): Promise<boolean> {
  const [allowed] = await db.query(FIND, [userId, clientId]);
  return allowed !== undefined && scopes.every((scope) => allowed.scopes.includes(scope));
}

/**
 * Records that the user allows the client the scopes, in a session of theirs. False if the session has ended or the
 * client is gone. Throws DatabaseError.
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
 * Revokes what a user has allowed a client, with every token issued from it, and returns the client's id. Undefined if
 * there is no such grant. Throws DatabaseError.
 */
export async function revokeOAuthGrant(
  db: Queryable,
  id: string,
  userId: string,
): Promise<string | undefined> {
  return (await db.query(REVOKE, [id, userId]))[0]?.clientId;
}
