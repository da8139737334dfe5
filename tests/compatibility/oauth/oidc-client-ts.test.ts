import { type INavigator, type User, UserManager } from 'oidc-client-ts';
import { onTestFinished } from 'vitest';
import { describeOAuthClient, OPENID_SCOPES, type Visit } from '../support/oauth-row.ts';
import { WORKS } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';

const REDIRECT_URI = 'https://application.example/callback';

const tokensOf = ({ access_token, refresh_token, profile }: User) => ({
  accessToken: access_token,
  refreshToken: refresh_token ?? '',
  userName: String(profile.name),
});

/** The window of the page: remembers to which URL the library sends the window. */
class PageWindow implements INavigator {
  #destination = '';

  async prepare() {
    const navigate = async ({ url }: { readonly url: string }) => {
      this.#destination = url;
      return { url };
    };
    return { navigate, close: () => undefined };
  }

  callback = async () => undefined;

  follow = (visit: Visit): Promise<URL> => visit(new URL(this.#destination));
}

describeOAuthClient({
  name: 'oidc-client-ts',
  version: packageVersion('oidc-client-ts'),
  checks: {
    discovery: WORKS,
    signIn: WORKS,
    openid: WORKS,
    refresh: WORKS,
    revocation: WORKS,
    signOut: WORKS,
  },
  redirectUri: REDIRECT_URI,
  isPublic: true,
  createDriver({ issuer, application, signedOutUri }) {
    const page = new PageWindow();
    const manager = new UserManager(
      {
        authority: issuer,
        client_id: application.id,
        redirect_uri: REDIRECT_URI,
        post_logout_redirect_uri: signedOutUri,
        scope: OPENID_SCOPES,
      },
      page,
    );
    // The library has a timer for as long as there is a user.
    onTestFinished(() => manager.removeUser());
    return {
      discover: () => manager.metadataService.getTokenEndpoint(),
      async signIn(visit) {
        await manager.signinRedirect();
        const { href } = await page.follow(visit);
        return tokensOf(await manager.signinRedirectCallback(href));
      },
      async refresh() {
        const user = await manager.signinSilent();
        if (user === null) throw new Error('the library has no user');
        return tokensOf(user);
      },
      revoke: () => manager.revokeTokens(),
      async signOut(visit) {
        await manager.signoutRedirect();
        const back = await page.follow(visit);
        await manager.signoutRedirectCallback(back.href);
        return back;
      },
    };
  },
});
