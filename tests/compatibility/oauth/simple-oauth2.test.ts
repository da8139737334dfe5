import { AuthorizationCode, ClientCredentials } from 'simple-oauth2';
import { PKCE } from '../../support/credentials/oauth.ts';
import { API_SCOPES, describeOAuthClient } from '../support/oauth-row.ts';
import { WORKS, worksWith } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';

const REDIRECT_URI = 'https://application.example/callback';

const tokensOf = ({ access_token, refresh_token }: Record<string, unknown>) => ({
  accessToken: String(access_token),
  refreshToken: String(refresh_token),
});

describeOAuthClient({
  name: 'simple-oauth2',
  version: packageVersion('simple-oauth2'),
  checks: {
    signIn: worksWith('`code_challenge` and `code_verifier` as parameters, because the library has no PKCE'),
    refresh: WORKS,
    service: WORKS,
    revocation: WORKS,
  },
  redirectUri: REDIRECT_URI,
  createDriver({ issuer, application, service }) {
    const auth = { tokenHost: issuer };
    const users = new AuthorizationCode({ client: application, auth });
    return {
      async signIn(visit) {
        const { verifier, challenge } = PKCE();
        const parameters = {
          redirect_uri: REDIRECT_URI,
          scope: API_SCOPES,
          state: 'a state',
          code_challenge: challenge,
          code_challenge_method: 'S256',
        };
        const back = await visit(new URL(users.authorizeURL(parameters)));
        const exchange = {
          code: back.searchParams.get('code') ?? '',
          redirect_uri: REDIRECT_URI,
          code_verifier: verifier,
        };
        return tokensOf((await users.getToken(exchange)).token);
      },
      refresh: async (refreshToken) =>
        tokensOf((await users.createToken({ refresh_token: refreshToken }).refresh()).token),
      requestClientCredentials: async () =>
        tokensOf((await new ClientCredentials({ client: service, auth }).getToken({})).token).accessToken,
      revoke: ({ accessToken, refreshToken }) =>
        users.createToken({ access_token: accessToken, refresh_token: refreshToken }).revokeAll(),
    };
  },
});
