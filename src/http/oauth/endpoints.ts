import { randomBytes } from 'node:crypto';
import type { default as Provider } from 'oidc-provider';
import type { RevokedToken } from '../../auth/jwt/blocklist.ts';
import { looksLikeJwt } from '../../auth/jwt/verify.ts';
import type { AccessToken, OwnTokens } from '../../auth/oauth/access-token.ts';
import type { HttpRequest, HttpResponse } from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import { jsonResponse } from '../response/error-response.ts';
import type { Called, LibraryCalls } from './call.ts';
import { basicChallenge } from './client-errors.ts';
import { readForm, withoutOwnResource } from './form.ts';
import { type OAuthRefusal, oauthErrorResponse } from './oauth-error.ts';

export interface EndpointOptions {
  readonly calls: LibraryCalls;
  readonly issuer: () => string;
  readonly ownTokens: OwnTokens;
  readonly revokeToken: (token: RevokedToken) => Promise<unknown>;
  /** Counts a failed credential of an address. Throws RATE_LIMITED where there were too many. */
  readonly failure: (state: RequestState) => Promise<void>;
}

/** What a request to an endpoint comes with. */
export interface EndpointRequest {
  readonly provider: Provider;
  readonly request: HttpRequest;
  readonly state: RequestState;
}

/** The endpoints that clients call: RFC 6749 section 3.2, RFC 7009, RFC 7662. */
export interface Endpoints {
  token(arrived: EndpointRequest): Promise<HttpResponse>;
  revoke(arrived: EndpointRequest): Promise<HttpResponse>;
  introspect(arrived: EndpointRequest): Promise<HttpResponse>;
}

/** RFC 8707 section 2. */
const WRONG_RESOURCE: OAuthRefusal = {
  status: 400,
  headers: {},
  error: 'invalid_target',
  description: 'tokens are for the one resource that is here: leave it out, or name it as their aud does',
};

/** Whether there is anything of a client in the request: who shows nothing guesses nothing. */
const presents = ({ headers }: HttpRequest, form: URLSearchParams): boolean =>
  headers.has('authorization') || form.has('client_id');

/** Only what is told by name: a member of the claims that nobody thought of stays inside. */
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

export function createEndpoints({
  calls,
  issuer,
  ownTokens,
  revokeToken,
  failure,
}: EndpointOptions): Endpoints {
  async function call({ provider, request, state }: EndpointRequest, form: URLSearchParams): Promise<Called> {
    const target = new URL(request.url).pathname;
    const called = await calls.call(provider, { request, state, form, target });
    if (called.response.status === 401 && presents(request, form)) await failure(state);
    return called;
  }

  /**
   * What the client has to say of a token. The library authenticates the client; access tokens, which it signs and
   * forgets, are ours to answer for: in the place of one it gets a token that nobody has.
   */
  async function about(arrived: EndpointRequest): Promise<Called & { readonly jwt: string | undefined }> {
    const form = await readForm(arrived.request);
    const [jwt = '', ...more] = form.getAll('token');
    if (more.length > 0 || !looksLikeJwt(jwt)) return { ...(await call(arrived, form)), jwt: undefined };
    form.set('token', randomBytes(32).toString('base64url'));
    return { ...(await call(arrived, form)), jwt };
  }

  return {
    async token(arrived) {
      const form = withoutOwnResource(await readForm(arrived.request), issuer());
      if (!form.has('resource')) return (await call(arrived, form)).response;
      // The library would look at it when code or refresh token has been used up already.
      arrived.state.errorCodes = [WRONG_RESOURCE.error];
      return oauthErrorResponse(WRONG_RESOURCE);
    },

    async revoke(arrived) {
      const { response, client, jwt } = await about(arrived);
      if (response.status !== 200 || client === undefined || jwt === undefined) return response;
      const checked = await ownTokens.check(jwt);
      // RFC 7009 section 2.2: a token that is none any more is no error, and neither is one of somebody else's.
      if (checked.outcome === 'valid' && checked.token.clientId === client.id) {
        const { jti, expiresAt } = checked.token;
        await revokeToken({ jti, expiresAt: new Date(expiresAt * 1000) });
      }
      return response;
    },

    async introspect(arrived) {
      const { response, client, jwt } = await about(arrived);
      if (response.status !== 200 || client === undefined) return response;
      if (client.isPublic)
        return oauthErrorResponse({
          status: 401,
          headers: { 'www-authenticate': basicChallenge(issuer()) },
          error: 'invalid_client',
          description: 'only a client with a secret can ask about tokens',
        });
      const checked = jwt === undefined ? undefined : await ownTokens.check(jwt);
      if (checked?.outcome !== 'valid' || checked.token.clientId !== client.id) return response;
      const standing = await ownTokens.standing(checked.token);
      if (standing === undefined || standing.ended) return response;
      return jsonResponse(introspection(checked.token));
    },
  };
}
