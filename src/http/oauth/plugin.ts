import type { default as Provider } from 'oidc-provider';
import type { KeyRing } from '../../auth/oauth/key-ring.ts';
import { hashSecret } from '../../auth/secret-format.ts';
import { ApiError } from '../../graphql/errors.ts';
import type { Logger } from '../../platform/log.ts';
import { holderOf } from '../../request/caller.ts';
import { addressKey } from '../../request/client-address.ts';
import {
  type HttpRequest,
  type HttpResponse,
  PlainRequest,
  type RequestUrl,
} from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import type { HttpPlugin } from '../plugin.ts';
import type { RateLimiter } from '../rate-limit/limiter.ts';
import type { BucketPolicy } from '../rate-limit/token-bucket.ts';
import { badRequest } from '../request/json-body.ts';
import { jsonResponse } from '../response/error-response.ts';
import { route } from '../routes/route.ts';
import { ADDRESS, BROWSER } from './authorization-parameters.ts';
import { knownBrowser } from './browser-cookie.ts';
import type { LibraryCalls } from './call.ts';
import { metadataOf } from './discovery.ts';
import type { Endpoints } from './endpoints.ts';
import { withoutOwnResource } from './form.ts';
import type { createInteractions } from './interactions.ts';
import { oauthErrorResponse, oauthRefusal } from './oauth-error.ts';
import type { Owners } from './owners.ts';
import { pageResponse } from './page-response.ts';
import { errorPage } from './pages/error-page.ts';
import { isOAuthPage, isOAuthPath, OAUTH_ROUTES, type OAuthRoute, oauthRouteOf } from './paths.ts';
import type { ProviderSource } from './provider-source.ts';

export interface OAuthPluginOptions {
  readonly provider: ProviderSource;
  readonly issuer: () => string;
  readonly keys: KeyRing;
  readonly calls: LibraryCalls;
  readonly owners: Owners;
  readonly endpoints: Endpoints;
  readonly interactions: ReturnType<typeof createInteractions>;
  readonly limiter: RateLimiter;
  readonly policy: BucketPolicy;
  readonly log: Logger;
}

/** Marks requests to OAuth's routes, so that every refusal has OAuth's format. */
export function useOAuthErrors(): HttpPlugin {
  return {
    onRequest({ url, state }) {
      state.oauth = isOAuthPath(url.pathname);
    },
  };
}

/** The routes of OAuth 2.0 (contract section 3): those of the library, and those that it leaves to us. */
export function useOAuth(options: OAuthPluginOptions): HttpPlugin {
  const { issuer, keys, calls, owners, endpoints, interactions, limiter, policy, log } = options;

  /** Limits pages per address: anyone can begin a sign-in, and each one adds a row to the database. */
  async function limitPages({ clientAddress }: RequestState): Promise<void> {
    const name = `pages of address:${addressKey(clientAddress)}`;
    const { refusal } = await limiter.request({ name, policy });
    if (refusal !== undefined) throw refusal;
  }

  async function authorize(
    provider: Provider,
    request: HttpRequest,
    state: RequestState,
  ): Promise<HttpResponse> {
    const { pathname, searchParams } = new URL(request.url);
    const query = withoutOwnResource(searchParams, issuer());
    const browser = knownBrowser(request);
    query.set(BROWSER, browser.hash);
    query.set(ADDRESS, Buffer.from(hashSecret(addressKey(state.clientAddress))).toString('base64url'));
    const { response } = await calls.call(provider, { request, state, target: `${pathname}?${query}` });
    if (browser.setCookie !== undefined) response.headers.append('set-cookie', browser.setCookie);
    return response;
  }

  /** Cached: the same for everyone, and expensive to get from the library. */
  const metadata = new WeakMap<Provider, Record<string, unknown>>();

  async function discover(
    provider: Provider,
    request: HttpRequest,
    state: RequestState,
  ): Promise<HttpResponse> {
    let known = metadata.get(provider);
    if (known === undefined) {
      const plain = new PlainRequest('GET', request.url, {}, new Uint8Array());
      const target = OAUTH_ROUTES.discovery.path;
      const { response } = await calls.call(provider, { request: plain, state, target });
      if (!response.ok) return response;
      known = metadataOf((await response.json()) as Record<string, unknown>);
      metadata.set(provider, known);
    }
    return jsonResponse(known);
  }

  async function answer(route: OAuthRoute, uid: string, request: HttpRequest, state: RequestState) {
    if (route === 'jwks')
      return jsonResponse({ keys: await keys.published() }, 200, {
        'content-type': 'application/jwk-set+json; charset=utf-8',
      });
    if (isOAuthPage(new URL(request.url).pathname)) await limitPages(state);
    const provider = await options.provider();
    const arrived = { provider, request, state };
    switch (route) {
      case 'discovery':
        return discover(provider, request, state);
      case 'authorize':
        return authorize(provider, request, state);
      case 'token':
      case 'revoke':
      case 'introspect':
        return endpoints[route](arrived);
      default:
        return interactions(route, { ...arrived, uid });
    }
  }

  async function dispatch(url: RequestUrl, request: HttpRequest, state: RequestState): Promise<HttpResponse> {
    const { route, uid } = oauthRouteOf(url.pathname);
    if (route === undefined)
      throw new ApiError('NOT_FOUND', 'There is nothing at this address.', { status: 404 });
    const { methods } = OAUTH_ROUTES[route];
    if (!(methods as readonly string[]).includes(request.method))
      throw badRequest(`This endpoint accepts ${methods.join(' and ')} only.`, 405, {
        allow: methods.join(', '),
      });
    if (state.refusal !== undefined) throw state.refusal;
    if (state.authenticationError !== undefined) throw state.authenticationError;
    return answer(route, uid, request, state);
  }

  function refuse(error: unknown, url: RequestUrl, state: RequestState): HttpResponse {
    const refusal = oauthRefusal(error, state, log);
    if (!isOAuthPage(url.pathname)) return oauthErrorResponse(refusal);
    const { status, headers, description } = refusal;
    const title = status < 500 ? 'Unable to continue' : 'Something went wrong';
    const page = errorPage({ title, message: description, requestId: state.requestId });
    return pageResponse(page, { status, headers });
  }

  return route(
    ({ state }) => state.oauth,
    ({ request, url, state }) =>
      owners
        .run(holderOf(state), () => dispatch(url, request, state))
        .catch((error: unknown) => refuse(error, url, state)),
  );
}
