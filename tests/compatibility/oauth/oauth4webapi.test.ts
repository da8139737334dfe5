import * as oauth from 'oauth4webapi';
import { describeOAuthClient, OPENID_SCOPES } from '../support/oauth-row.ts';
import { WORKS } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';

const REDIRECT_URI = 'https://application.example/callback';
/** The service of the test has no certificate. */
const PLAIN = { [oauth.allowInsecureRequests]: true };

const tokensOf = (response: oauth.TokenEndpointResponse) => ({
  accessToken: response.access_token,
  refreshToken: response.refresh_token ?? '',
  userName: String(oauth.getValidatedIdTokenClaims(response)?.name),
});

describeOAuthClient({
  name: 'oauth4webapi',
  version: packageVersion('oauth4webapi'),
  checks: {
    discovery: WORKS,
    signIn: WORKS,
    openid: WORKS,
    refresh: WORKS,
    service: WORKS,
    revocation: WORKS,
  },
  redirectUri: REDIRECT_URI,
  async createDriver({ issuer, application, service }) {
    const url = new URL(issuer);
    const discover = async () =>
      oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url, PLAIN));
    const server = await discover();
    const client = { client_id: application.id };
    const authentication = oauth.ClientSecretBasic(application.secret);
    return {
      discover,
      async signIn(visit) {
        const verifier = oauth.generateRandomCodeVerifier();
        const state = oauth.generateRandomState();
        const authorization = new URL(server.authorization_endpoint ?? '');
        authorization.search = new URLSearchParams({
          client_id: application.id,
          redirect_uri: REDIRECT_URI,
          response_type: 'code',
          scope: OPENID_SCOPES,
          code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          state,
        }).toString();
        const parameters = oauth.validateAuthResponse(server, client, await visit(authorization), state);
        const response = await oauth.authorizationCodeGrantRequest(
          server,
          client,
          authentication,
          parameters,
          REDIRECT_URI,
          verifier,
          PLAIN,
        );
        return tokensOf(await oauth.processAuthorizationCodeResponse(server, client, response));
      },
      async refresh(refreshToken) {
        const response = await oauth.refreshTokenGrantRequest(
          server,
          client,
          authentication,
          refreshToken,
          PLAIN,
        );
        return tokensOf(await oauth.processRefreshTokenResponse(server, client, response));
      },
      async requestClientCredentials() {
        const owned = { client_id: service.id };
        const secret = oauth.ClientSecretBasic(service.secret);
        const response = await oauth.clientCredentialsGrantRequest(server, owned, secret, {}, PLAIN);
        return (await oauth.processClientCredentialsResponse(server, owned, response)).access_token;
      },
      async revoke({ refreshToken }) {
        const response = await oauth.revocationRequest(server, client, authentication, refreshToken, PLAIN);
        await oauth.processRevocationResponse(response);
      },
    };
  },
});
