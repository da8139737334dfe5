import { randomBytes } from 'node:crypto';
import { looksLikeJwt, revokeToken } from '../../../auth/jwt.ts';
import type { Queryable } from '../../../database/statement.ts';
import { readForm } from '../../../http/body.ts';
import type { AdmittedRequest } from '../../../http/exchange.ts';
import type { HttpRequest, HttpResponse } from '../../../http/message.ts';
import { jsonResponse } from '../../../http/response/responder.ts';
import type { AccessToken, OwnTokens } from '../access-token.ts';
import { isPublic } from '../clients.ts';
import { OAUTH_PATHS } from '../paths.ts';
import { withoutOwnResource } from '../provider/provider.ts';
import {
  basicChallenge,
  type CallLibrary,
  type LibraryResult,
  oauthErrorResponse,
} from '../provider/provider-bridge.ts';

interface EndpointOptions {
  readonly callLibrary: CallLibrary;
  readonly issuer: () => string;
  readonly ownTokens: OwnTokens;
  readonly database: Queryable;
  /** @throws RATE_LIMITED if the IP address has too many failures */
  readonly failure: (admitted: AdmittedRequest, client: string | undefined) => Promise<void>;
}

export interface OAuthExchange {
  readonly request: HttpRequest;
  readonly admitted: AdmittedRequest;
}

/** A request that names no client is not an attempt to guess a secret. */
const presents = ({ headers }: HttpRequest, form: URLSearchParams): boolean =>
  headers.has('authorization') || form.has('client_id');

interface TokenResult extends LibraryResult {
  /** Undefined unless a valid access token of the client was sent. */
  readonly token: AccessToken | undefined;
}

/** The allowlist keeps a future claim from being exposed by accident. */
const SHOWN_CLAIMS = ['scope', 'client_id', 'exp', 'iat', 'sub', 'aud', 'iss', 'jti'];

const introspection = ({ claims }: AccessToken): Record<string, unknown> => ({
  active: true,
  token_type: 'Bearer',
  ...Object.fromEntries(SHOWN_CLAIMS.map((name) => [name, claims[name]])),
});

/** RFC 6749 §3.2, RFC 7009 and RFC 7662 define these endpoints. */
export function createEndpoints({ callLibrary, issuer, ownTokens, database, failure }: EndpointOptions) {
  type Endpoint = 'token' | 'revoke' | 'introspect';

  async function call({ request, admitted }: OAuthExchange, endpoint: Endpoint, form: URLSearchParams) {
    const result = await callLibrary({ request, admitted, form, target: OAUTH_PATHS[endpoint] });
    if (result.response.status === 401 && presents(request, form))
      await failure(admitted, result.client?.clientId);
    return result;
  }

  /**
   * The library authenticates the client, but does not store access tokens. The service checks access tokens
   * itself, and the library gets a random token instead.
   */
  async function callAboutToken(exchange: OAuthExchange, endpoint: Endpoint): Promise<TokenResult> {
    const form = await readForm(exchange.request);
    const [jwt = '', ...more] = form.getAll('token');
    const isJwt = more.length === 0 && looksLikeJwt(jwt);
    if (isJwt) form.set('token', randomBytes(32).toString('base64url'));
    const result = await call(exchange, endpoint, form);
    const checked = isJwt && result.response.status === 200 ? await ownTokens.check(jwt) : undefined;
    const isItsOwn = checked?.outcome === 'valid' && checked.token.clientId === result.client?.clientId;
    return { ...result, token: isItsOwn ? checked.token : undefined };
  }

  return {
    async token(exchange: OAuthExchange): Promise<HttpResponse> {
      const form = withoutOwnResource(await readForm(exchange.request), issuer());
      if (!form.has('resource')) return (await call(exchange, 'token', form)).response;
      // The library would check the resource only after it has consumed the code or refresh token. RFC 8707 §2 defines
      // the error.
      return oauthErrorResponse(
        'invalid_target',
        'there is only one resource: omit the parameter, or set it to the aud of the tokens',
        { status: 400 },
      );
    },

    async revoke(exchange: OAuthExchange): Promise<HttpResponse> {
      const { response, token } = await callAboutToken(exchange, 'revoke');
      if (response.status !== 200) return response;
      // RFC 7009 §2.2: neither an invalid token nor another client's token is an error.
      if (token !== undefined)
        await revokeToken(database, { jti: token.jti, expiresAt: new Date(token.expiresAt * 1000) });
      // RFC 7009 gives the body no meaning. Clients that expect JSON from every endpoint reject the library's
      // empty body.
      return jsonResponse({});
    },

    async introspect(exchange: OAuthExchange): Promise<HttpResponse> {
      const { response, client, token } = await callAboutToken(exchange, 'introspect');
      if (response.status !== 200 || client === undefined) return response;
      if (isPublic(client))
        return oauthErrorResponse('invalid_client', 'only clients with a secret can introspect tokens', {
          status: 401,
          headers: { 'www-authenticate': basicChallenge(issuer()) },
        });
      const standing = token && (await ownTokens.standing(token.name));
      if (token === undefined || standing === undefined || standing.invalid) return response;
      return jsonResponse(introspection(token));
    },
  };
}
