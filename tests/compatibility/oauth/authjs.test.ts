import { Auth, type AuthConfig } from '@auth/core';
import { Browser } from '../../support/credentials/oauth.ts';
import { describeOAuthClient, nameOf, SCOPES, type Tokens } from '../support/oauth-row.ts';
import { fails, worksWith } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';

const ORIGIN = 'https://application.example';
const PROVIDER = { id: 'content-graph', name: 'Content Graph API' };
const SHARED = { basePath: '/auth', secret: 'a secret of the suite', trustHost: true };

/** A browser in front of an application. */
function openApplication(config: AuthConfig): Browser {
  const pages = {
    fetch: async (path: string, init?: RequestInit) =>
      Auth(new Request(new URL(path, ORIGIN), init), { ...SHARED, ...config }),
  };
  return new Browser(pages, {}, ORIGIN);
}

/** Presses the button that signs in. @returns where the browser is sent */
async function begin(browser: Browser): Promise<URL> {
  const { csrfToken } = await (await browser.fetch(`${ORIGIN}/auth/csrf`)).json();
  const response = await browser.fetch(`${ORIGIN}/auth/signin/${PROVIDER.id}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ csrfToken }).toString(),
  });
  return new URL(response.headers.get('location') ?? '', ORIGIN);
}

describeOAuthClient({
  name: 'Auth.js',
  version: packageVersion('@auth/core'),
  checks: {
    discovery: fails('it discovers OpenID Connect only, so list the endpoints'),
    signIn: worksWith(
      "a provider of `type: 'oauth'` with `issuer`, `authorization`, `token`, `checks` with `pkce`, and a `userinfo` that asks GraphQL",
    ),
  },
  redirectUri: `${ORIGIN}/auth/callback/${PROVIDER.id}`,
  createDriver({ issuer, api, application }) {
    const client = { ...PROVIDER, issuer, clientId: application.id, clientSecret: application.secret };
    return {
      async discover() {
        const silent = { error: () => undefined };
        const url = await begin(
          openApplication({ providers: [{ ...client, type: 'oidc' }], logger: silent }),
        );
        if (url.origin !== issuer) throw new Error(`the browser is sent to ${url}`);
      },
      async signIn(visit) {
        let tokens: Tokens | undefined;
        const browser = openApplication({
          providers: [
            {
              ...client,
              type: 'oauth',
              checks: ['pkce', 'state'],
              authorization: { url: `${issuer}/oauth/authorize`, params: { scope: SCOPES } },
              token: `${issuer}/oauth/token`,
              userinfo: {
                url: api,
                request: async ({
                  tokens: { access_token = '' },
                }: {
                  tokens: { access_token?: string };
                }) => ({
                  name: await nameOf(api, access_token),
                }),
              },
              profile: ({ name }) => ({ id: name, name }),
            },
          ],
          callbacks: {
            jwt({ token, account }) {
              if (account != null)
                tokens = {
                  accessToken: account.access_token ?? '',
                  refreshToken: account.refresh_token ?? '',
                };
              return token;
            },
          },
        });
        const back = await visit(await begin(browser));
        const response = await browser.fetch(back.href);
        if (tokens === undefined) throw new Error(`not signed in: ${response.headers.get('location')}`);
        const session = await (await browser.fetch(`${ORIGIN}/auth/session`)).json();
        if (session?.user?.name !== 'Ada') throw new Error(`a session of ${JSON.stringify(session)}`);
        return tokens;
      },
    };
  },
});
