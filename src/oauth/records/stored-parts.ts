import { type StoredPart, storedPart } from '../../auth/account/stored-part.ts';

/** What OAuth stores about an account. What others have granted to its clients is theirs. */
export const oauthParts: readonly StoredPart[] = [
  storedPart({
    name: 'oauthClients',
    tables: ['oauth_clients'],
    alias: 'c',
    owner: 'owner_id',
    columns: `c.id, c.name, c.grants, c.scopes, c.redirect_uris AS "redirectUris", c.created_at AS "createdAt",
       c.burst, c.per_second AS "perSecond", c.documents`,
  }),
  storedPart({
    name: 'oauthGrants',
    tables: ['oauth_grants', 'oauth_records'],
    alias: 'g',
    join: 'JOIN oauth_clients c ON c.id = g.client_id',
    columns: `g.id, c.name AS "client", g.scopes, g.created_at AS "createdAt", g.last_used_at AS "lastUsedAt",
       ARRAY(SELECT r.expires_at FROM oauth_records r WHERE r.grant_id = g.id ORDER BY r.expires_at) AS "authorizedUntil"`,
  }),
];
