import * as client from 'openid-client';
import { API_SCOPES, describeOAuthClient, type RegisteredClient } from '../support/oauth-row.ts';
import { WORKS, worksWith } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';

const REDIRECT_URI = 'https://application.example/callback';

const tokensOf = ({ access_token, refresh_token }: client.TokenEndpointResponse) => ({
  accessToken: access_token,
  refreshToken: refresh_token ?? '',
});

describeOAuthClient({
  name: 'openid-client',
  version: packageVersion('openid-client'),
  checks: {
    discovery: worksWith("`algorithm: 'oauth2'` in `discovery`"),
    signIn: WORKS,
    refresh: WORKS,
    service: WORKS,
    revocation: WORKS,
  },
  redirectUri: REDIRECT_URI,
  async createDriver({ issuer, application, service }) {
    const discover = ({ id, secret }: RegisteredClient) =>
      client.discovery(new URL(issuer), id, secret, undefined, {
        algorithm: 'oauth2',
        // The service of the test has no certificate.
        execute: [client.allowInsecureRequests],
      });
    const config = await discover(application);
    return {
      discover: () => discover(application),
      async signIn(visit) {
        const verifier = client.randomPKCECodeVerifier();
        const state = client.randomState();
        const url = client.buildAuthorizationUrl(config, {
          redirect_uri: REDIRECT_URI,
          scope: API_SCOPES,
          code_challenge: await client.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          state,
        });
        const checks = { pkceCodeVerifier: verifier, expectedState: state };
        return tokensOf(await client.authorizationCodeGrant(config, await visit(url), checks));
      },
      refresh: async (refreshToken) => tokensOf(await client.refreshTokenGrant(config, refreshToken)),
      requestClientCredentials: async () =>
        (await client.clientCredentialsGrant(await discover(service))).access_token,
      revoke: ({ refreshToken }) => client.tokenRevocation(config, refreshToken),
    };
  },
});
