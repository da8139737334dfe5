import { randomBytes } from 'node:crypto';
import type { default as Provider } from 'oidc-provider';
import { looksLikeJwt, revokeToken } from '../../../auth/jwt.ts';
import type { Queryable } from '../../../database/statement.ts';
import { readForm } from '../../../http/body.ts';
import type { AdmittedRequest } from '../../../http/exchange.ts';
import type { HttpRequest, HttpResponse } from '../../../http/message.ts';
import { jsonResponse } from '../../../http/response/responder.ts';
import type { AccessToken, OwnTokens } from '../access-token.ts';
import { basicChallenge, type OAuthErrorResponse, oauthErrorResponse } from '../provider/errors.ts';
import { withoutOwnResource } from '../provider/provider.ts';
import type { LibraryCalls, ProviderCallResult } from '../provider/provider-bridge.ts';

interface EndpointOptions {
  readonly calls: LibraryCalls;
  readonly issuer: () => string;
  readonly ownTokens: OwnTokens;
  readonly database: Queryable;
  /** @throws RATE_LIMITED if the IP address has too many failures */
  readonly failure: (admitted: AdmittedRequest, client: string | undefined) => Promise<void>;
}

export interface EndpointRequest {
  readonly provider: Provider;
  readonly request: HttpRequest;
  readonly admitted: AdmittedRequest;
}

/** RFC 8707 §2 defines this error. */
const WRONG_RESOURCE: OAuthErrorResponse = {
  status: 400,
  headers: {},
  error: 'invalid_target',
  errorCodes: ['invalid_target'],
  description: 'there is only one resource: omit the parameter, or set it to the aud of the tokens',
};

/** A request that names no client is not an attempt to guess a secret. */
const presents = ({ headers }: HttpRequest, form: URLSearchParams): boolean =>
  headers.has('authorization') || form.has('client_id');

/** The allowlist keeps a future claim from being exposed by accident. */
function introspection(token: AccessToken): Record<string, unknown> {
  const { scopes, clientId, userId, expiresAt, issuedAt, issuer, audience, jti } = token;
  return {
    active: true,
    scope: scopes.join(' '),
    client_id: clientId,
    token_type: 'Bearer',
    exp: expiresAt,
    iat: issuedAt,
    sub: userId ?? clientId,
    aud: audience,
    iss: issuer,
    jti,
  };
}

/** RFC 6749 §3.2, RFC 7009 and RFC 7662 define these endpoints. */
export function createEndpoints({ calls, issuer, ownTokens, database, failure }: EndpointOptions) {
  async function call({ provider, request, admitted }: EndpointRequest, form: URLSearchParams) {
    const target = new URL(request.url).pathname;
    const called = await calls.call(provider, { request, admitted, form, target });
    if (called.response.status === 401 && presents(request, form)) await failure(admitted, called.client?.id);
    return called;
  }

  /**
   * The library authenticates the client, but does not store access tokens. The service checks access tokens
   * itself, and the library gets a random token instead.
   */
  async function about(
    arrived: EndpointRequest,
  ): Promise<ProviderCallResult & { readonly jwt: string | undefined }> {
    const form = await readForm(arrived.request);
    const [jwt = '', ...more] = form.getAll('token');
    if (more.length > 0 || !looksLikeJwt(jwt)) return { ...(await call(arrived, form)), jwt: undefined };
    form.set('token', randomBytes(32).toString('base64url'));
    return { ...(await call(arrived, form)), jwt };
  }

  return {
    async token(arrived: EndpointRequest): Promise<HttpResponse> {
      const form = withoutOwnResource(await readForm(arrived.request), issuer());
      if (!form.has('resource')) return (await call(arrived, form)).response;
      // The library would check the resource only after it has consumed the code or refresh token.
      return oauthErrorResponse(WRONG_RESOURCE);
    },

    async revoke(arrived: EndpointRequest): Promise<HttpResponse> {
      const { response, client, jwt } = await about(arrived);
      if (response.status !== 200) return response;
      const checked = jwt === undefined ? undefined : await ownTokens.check(jwt);
      // RFC 7009 §2.2: neither an invalid token nor another client's token is an error.
      if (checked?.outcome === 'valid' && checked.token.clientId === client?.id) {
        const { jti, expiresAt } = checked.token;
        await revokeToken(database, { jti, expiresAt: new Date(expiresAt * 1000) });
      }
      // RFC 7009 gives the body no meaning. Clients that expect JSON from every endpoint reject the library's
      // empty body.
      return jsonResponse({});
    },

    async introspect(arrived: EndpointRequest): Promise<HttpResponse> {
      const { response, client, jwt } = await about(arrived);
      if (response.status !== 200 || client === undefined) return response;
      if (client.isPublic)
        return oauthErrorResponse({
          status: 401,
          headers: { 'www-authenticate': basicChallenge(issuer()) },
          error: 'invalid_client',
          errorCodes: [],
          description: 'only clients with a secret can introspect tokens',
        });
      const checked = jwt === undefined ? undefined : await ownTokens.check(jwt);
      if (checked?.outcome !== 'valid' || checked.token.clientId !== client.id) return response;
      const standing = await ownTokens.standing(checked.token);
      if (standing === undefined || standing.invalid) return response;
      return jsonResponse(introspection(checked.token));
    },
  };
}
