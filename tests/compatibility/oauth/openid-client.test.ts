import * as client from 'openid-client';
import { describeOAuthClient, OPENID_SCOPES, type RegisteredClient } from '../support/oauth-row.ts';
import { WORKS } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';

const REDIRECT_URI = 'https://application.example/callback';

type TokenResponse = client.TokenEndpointResponse & client.TokenEndpointResponseHelpers;

const tokensOf = (response: TokenResponse) => ({
  accessToken: response.access_token,
  refreshToken: response.refresh_token ?? '',
  userName: String(response.claims()?.name),
  idToken: response.id_token ?? '',
});

describeOAuthClient({
  name: 'openid-client',
  version: packageVersion('openid-client'),
  checks: {
    discovery: WORKS,
    signIn: WORKS,
    openid: WORKS,
    refresh: WORKS,
    service: WORKS,
    revocation: WORKS,
    signOut: WORKS,
  },
  redirectUri: REDIRECT_URI,
  async createDriver({ issuer, application, service, signedOutUri }) {
    const discover = ({ id, secret }: RegisteredClient) =>
      client.discovery(new URL(issuer), id, secret, undefined, {
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
          scope: OPENID_SCOPES,
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
      signOut: (visit, { idToken = '' }) =>
        visit(
          client.buildEndSessionUrl(config, {
            id_token_hint: idToken,
            post_logout_redirect_uri: signedOutUri,
          }),
        ),
    };
  },
});
