import { type AccountEnding, endStatement, endSurplus, ofAccounts } from '../../auth/account/ending.ts';
import { OAUTH_KIND } from './grants.ts';

/**
 * Authorizations depend on grants, and grants on clients; each may have any number of them. A grant or client goes as
 * soon as nothing depends on it, so that later batches need not scan past empty ones.
 */
const authorizations = (of: string) =>
  endSurplus('oauth_records', of, 'model, hash', 'oauth_records r JOIN oauth_grants g ON g.id = r.grant_id');
const grants = (of: string) =>
  endSurplus(
    'oauth_grants',
    `${of} AND NOT EXISTS (SELECT FROM oauth_records r WHERE r.grant_id = g.id)`,
    'id',
    'oauth_grants g',
  );
const ITS_OWN = ofAccounts('g.user_id');
const OF_ITS_CLIENTS = `g.client_id IN (SELECT c.id FROM oauth_clients c WHERE ${ofAccounts('c.owner_id')})`;

/** The grants of an account end with their tokens, which depend on them. */
export const grantsEnd: AccountEnding = {
  kind: 'oauthGrants',
  words: 'OAuth grants',
  ofPassword: true,
  // The tokens of a client that acts on its own name no user.
  alone: {
    option: 'grants',
    streamTokens: `t.credential_kind = '${OAUTH_KIND}' AND split_part(t.credential_id, ' ', 3) <> ''`,
  },
  all: endStatement('account_end_grants', `DELETE FROM oauth_grants WHERE ${ofAccounts()}`),
  surplus: [authorizations(ITS_OWN), grants(ITS_OWN)],
};

/** The clients that an account owns. */
export const clientsEnd: AccountEnding = {
  kind: 'oauthClients',
  words: 'OAuth clients',
  ofPassword: false,
  all: endStatement('account_end_clients', `DELETE FROM oauth_clients WHERE ${ofAccounts('owner_id')}`),
  surplus: [
    authorizations(OF_ITS_CLIENTS),
    grants(OF_ITS_CLIENTS),
    endSurplus(
      'oauth_clients',
      `${ofAccounts('owner_id')} AND NOT EXISTS (SELECT FROM oauth_grants g WHERE g.client_id = c.id)`,
      'id',
      'oauth_clients c',
    ),
  ],
};
