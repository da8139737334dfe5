import { decodeJwt, errors } from 'jose';
import { CLEAR_SESSION_COOKIE, extractCredential } from '../../../auth/authenticate.ts';
import { isSession } from '../../../auth/principal.ts';
import { readConnectionFor } from '../../../auth/secrets.ts';
import type { EndSession } from '../../../auth/sessions.ts';
import type { Database } from '../../../database/database.ts';
import type { Queryable } from '../../../database/statement.ts';
import { badRequest, readForm } from '../../../http/body.ts';
import type { RouteHandler } from '../../../http/exchange.ts';
import { html, layout, pageResponse, redirectSameSite, seeOther } from '../../../http/html/page.ts';
import type { HttpResponse } from '../../../http/message.ts';
import { jsonResponse } from '../../../http/response/responder.ts';
import { ACCOUNT } from '../../../http/routes/table.ts';
import { ApiError, unauthenticated } from '../../../platform/errors.ts';
import { isUuid } from '../../../platform/ids.ts';
import type { OwnTokens } from '../access-token.ts';
import { findOAuthClient } from '../clients.ts';
import { createClaims, findActiveAccount, IDENTITY_CLAIMS } from '../identity.ts';
import { OAUTH_PATHS } from '../paths.ts';
import type { OAuthExchange } from './endpoints.ts';

/** RFC 6750 §3.1 defines the challenges. */
const createTokenError = () =>
  unauthenticated('Userinfo requires an OAuth access token of a user.', 'Bearer error="invalid_token"');
const createScopeError = () =>
  new ApiError('FORBIDDEN', 'Userinfo requires an access token with the scope openid.', {
    headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="openid"' },
  });

/**
 * OpenID Connect Core §5.3 defines this endpoint. The library would reject the tokens, because their audience is the
 * API.
 */
export function createUserinfo(database: Database, ownTokens: OwnTokens): RouteHandler {
  return async ({ headers }) => {
    const extracted = extractCredential(headers, { apiKeys: [], streamTokens: [] });
    if (extracted === undefined || 'malformed' in extracted) throw createTokenError();
    const checked = await ownTokens.check(extracted.value);
    const token = checked.outcome === 'valid' ? checked.token : undefined;
    if (token?.userId === undefined) throw createTokenError();
    if (!token.scopes.includes('openid')) throw createScopeError();
    const { userId, scopes } = token;
    const account = await findActiveAccount(readConnectionFor(database, userId), userId);
    if (account === undefined) throw createTokenError();
    const claims: Readonly<Record<string, unknown>> = createClaims(account);
    const granted = Object.entries(IDENTITY_CLAIMS).flatMap(([scope, names]) =>
      scopes.includes(scope) ? names.map((name) => [name, claims[name]] as const) : [],
    );
    return jsonResponse(Object.fromEntries(granted));
  };
}

interface LogoutOptions {
  readonly database: Queryable;
  readonly endSession: EndSession;
}

/** A request to sign the user out, after its redirect URI was checked. */
interface LogoutRequest {
  readonly clientName: string | undefined;
  /** The redirect URI with the state. */
  readonly target: string | undefined;
  readonly parameters: URLSearchParams;
}

const PARAMETERS = ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state'];

/**
 * The token only names the client, whose registered URIs are public. So an expired token or the token of a deleted key is
 * as good.
 */
function audienceOfHint(hint: string | null): string | undefined {
  if (hint === null) return undefined;
  try {
    const { aud } = decodeJwt(hint);
    return typeof aud === 'string' ? aud : undefined;
  } catch (error) {
    if (error instanceof errors.JWTInvalid) throw badRequest('id_token_hint is not an ID token.');
    throw error;
  }
}

const signedOutPage = (): string =>
  layout({
    title: 'Signed out',
    content: html`<h1>You are signed out</h1>
<p>You can close this page.</p>`,
  });

function logoutPage({ clientName, parameters }: LogoutRequest): string {
  const fields = [...parameters].map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  return layout({
    title: 'Sign out?',
    content: html`<h1>Sign out of Content Graph API?</h1>
<p>${clientName !== undefined && html`<strong>${clientName}</strong> asks to sign you out. `}Your session in this browser ends. Applications that you have allowed keep their access until you revoke it in <a href="${ACCOUNT}">your account</a>.</p>
<div class="actions pair">
<form method="post" action="${OAUTH_PATHS.confirmLogout}">
${fields}<button type="submit">Sign out</button>
</form>
<form method="get" action="${ACCOUNT}">
<button class="second" type="submit">Stay signed in</button>
</form>
</div>`,
  });
}

/**
 * OpenID Connect RP-Initiated Logout. The library's implementation needs the library's sessions. The user is always asked,
 * because any page can send a browser here.
 */
export function createLogout({ database, endSession }: LogoutOptions) {
  /** @throws BAD_REQUEST if the redirect URI is not registered, so that nothing is sent there */
  async function read(given: URLSearchParams): Promise<LogoutRequest> {
    const parameters = new URLSearchParams([...given].filter(([name]) => PARAMETERS.includes(name)));
    const hinted = audienceOfHint(given.get('id_token_hint'));
    const clientId = given.get('client_id') ?? hinted ?? '';
    if (hinted !== undefined && hinted !== clientId)
      throw badRequest('client_id is not the client of the id_token_hint.');
    const client = isUuid(clientId) ? await findOAuthClient(database, clientId) : undefined;
    const redirectUri = given.get('post_logout_redirect_uri') ?? undefined;
    if (redirectUri !== undefined && !client?.postLogoutRedirectUris.includes(redirectUri))
      throw badRequest(
        'The application that sent you here uses a post_logout_redirect_uri that is not registered for it. Contact the provider of the application.',
      );
    const target = redirectUri === undefined ? undefined : new URL(redirectUri);
    const state = given.get('state');
    if (state !== null) target?.searchParams.set('state', state);
    return { clientName: client?.name, target: target?.href, parameters };
  }

  const leave = ({ target }: LogoutRequest, headers: Readonly<Record<string, string>> = {}): HttpResponse =>
    target === undefined ? pageResponse(signedOutPage(), { headers }) : seeOther(target, headers);

  return {
    async ask({ request, admitted }: OAuthExchange): Promise<HttpResponse> {
      const { searchParams } = new URL(request.url);
      const given = request.method === 'POST' ? await readForm(request) : searchParams;
      const logout = await read(given);
      const page = `${OAUTH_PATHS.logout}?${logout.parameters}`;
      // A post from another site comes without the session's cookie.
      if (request.method === 'POST') return seeOther(page);
      if (!isSession(admitted.caller)) return redirectSameSite(request, page) ?? leave(logout);
      return pageResponse(logoutPage(logout), { redirectUri: logout.target });
    },

    async confirm({ request, admitted }: OAuthExchange): Promise<HttpResponse> {
      const logout = await read(await readForm(request));
      await endSession(admitted.caller);
      return leave(logout, { 'set-cookie': CLEAR_SESSION_COOKIE, 'clear-site-data': '"cache"' });
    },
  };
}
