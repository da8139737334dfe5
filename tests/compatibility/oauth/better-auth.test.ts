import { betterAuth } from 'better-auth';
import { memoryAdapter } from 'better-auth/adapters/memory';
import { genericOAuth } from 'better-auth/plugins';
import { Browser } from '../../support/credentials/oauth.ts';
import { describeOAuthClient, OPENID_SCOPES } from '../support/oauth-row.ts';
import { WORKS } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';

const ORIGIN = 'https://application.example';

describeOAuthClient({
  name: 'better-auth',
  version: packageVersion('better-auth'),
  checks: {
    discovery: WORKS,
    signIn: WORKS,
    openid: WORKS,
    refresh: WORKS,
    signOut: WORKS,
  },
  redirectUri: `${ORIGIN}/api/auth/callback/content-graph`,
  createDriver({ issuer, application, signedOutUri }) {
    const auth = betterAuth({
      baseURL: ORIGIN,
      secret: 'a secret of the suite, which is long',
      database: memoryAdapter({ user: [], session: [], account: [], verification: [] }),
      telemetry: { enabled: false },
      plugins: [
        genericOAuth({
          config: [
            {
              providerId: 'content-graph',
              discoveryUrl: `${issuer}/.well-known/openid-configuration`,
              clientId: application.id,
              clientSecret: application.secret,
              scopes: OPENID_SCOPES.split(' '),
            },
          ],
        }),
      ],
    });
    const pages = {
      fetch: (path: string, init?: RequestInit) => auth.handler(new Request(new URL(path, ORIGIN), init)),
    };
    const browser = new Browser(pages, {}, ORIGIN);
    const send = async (path: string, body?: object) => {
      const response = await browser.fetch(`${ORIGIN}/api/auth${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'content-type': 'application/json', origin: ORIGIN },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (!response.ok) throw new Error(`${path} ${response.status} ${await response.text()}`);
      return response.json();
    };
    const selectAccount = async () => {
      const accounts: readonly { readonly id: string; readonly providerId: string }[] =
        await send('/list-accounts');
      return { accountId: accounts.find(({ providerId }) => providerId === 'content-graph')?.id };
    };
    const begin = (): Promise<{ readonly url: string }> =>
      send('/sign-in/social', { provider: 'content-graph', callbackURL: '/' });
    return {
      discover: begin,
      async signIn(visit) {
        const { url } = await begin();
        const response = await browser.fetch((await visit(new URL(url))).href);
        const location = response.headers.get('location');
        if (location !== '/' && location !== `${ORIGIN}/`) throw new Error(`not signed in: ${location}`);
        const { accessToken } = await send('/get-access-token', await selectAccount());
        // The library shows the refresh token only when it refreshes.
        const { user } = await send('/get-session');
        return { accessToken, refreshToken: '', userName: user.name };
      },
      refresh: async () => send('/refresh-token', await selectAccount()),
      async signOut(visit) {
        const { url } = await send('/sign-out', { callbackURL: signedOutUri });
        return visit(new URL(url));
      },
    };
  },
});
