import { Auth, type AuthConfig } from '@auth/core';
import { Browser } from '../../support/credentials/oauth.ts';
import { describeOAuthClient, OPENID_SCOPES, type Tokens } from '../support/oauth-row.ts';
import { WORKS, worksWith } from '../support/results.ts';
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
    discovery: WORKS,
    signIn: worksWith("`type: 'oidc'`, and scopes in `authorization.params.scope`"),
    openid: WORKS,
  },
  redirectUri: `${ORIGIN}/auth/callback/${PROVIDER.id}`,
  createDriver({ issuer, application }) {
    let account: Omit<Tokens, 'userName'> | undefined;
    const open = () =>
      openApplication({
        providers: [
          {
            ...PROVIDER,
            type: 'oidc',
            issuer,
            clientId: application.id,
            clientSecret: application.secret,
            authorization: { params: { scope: OPENID_SCOPES } },
          },
        ],
        callbacks: {
          jwt({ token, account: signedIn }) {
            if (signedIn != null)
              account = {
                accessToken: signedIn.access_token ?? '',
                refreshToken: signedIn.refresh_token ?? '',
              };
            return token;
          },
        },
      });
    return {
      async discover() {
        const url = await begin(open());
        if (url.origin !== issuer) throw new Error(`the browser is sent to ${url}`);
      },
      async signIn(visit) {
        const browser = open();
        const back = await visit(await begin(browser));
        const response = await browser.fetch(back.href);
        if (account === undefined) throw new Error(`not signed in: ${response.headers.get('location')}`);
        const session = await (await browser.fetch(`${ORIGIN}/auth/session`)).json();
        return { ...account, userName: String(session?.user?.name) };
      },
    };
  },
});
