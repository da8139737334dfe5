import type { UnverifiedSession } from '../auth/authenticate.ts';
import type { CostCeilings } from '../engine/operation/outcome.ts';
import { ApiError } from '../platform/errors.ts';
import {
  type AdmittedRequest,
  createDisconnectSignal,
  type IncomingRequest,
  type ReceivedRequest,
  type Route,
} from './exchange.ts';
import type { Pipeline } from './graphql.ts';
import type { Caching } from './hooks/caching.ts';
import type { Compression } from './hooks/compression.ts';
import { type AskedRequest, beginProgress, type RequestProgress, type ServicePlugin } from './lifecycle.ts';
import {
  type HeaderFields,
  type HttpRequest,
  type HttpResponse,
  PlainRequest,
  type RequestUrl,
} from './message.ts';
import { createRequestSteps, type RequestServices } from './request-steps.ts';
import {
  createTable,
  isFastPathRequest,
  NOT_FOUND_ROUTE,
  notFoundRoute,
  targetOf,
  urlOf,
} from './routes/table.ts';
import { hostContext } from './yoga/hosted-operations.ts';
import { createYogaServer, type YogaOptions } from './yoga/yoga-host.ts';
import { createResults } from './yoga/yoga-result.ts';

export interface RequestHandlerOptions extends RequestServices {
  readonly schema: YogaOptions['schema'];
  readonly limits: CostCeilings;
  readonly plugins: readonly ServicePlugin[];
  readonly routes: readonly Route[];
  readonly pipeline: Pipeline;
  readonly compression: Compression;
  readonly caching: Caching;
  /** A plugin in this list makes Yoga handle all requests. */
  readonly yogaPlugins: YogaOptions['plugins'];
}

export interface NodeRequest {
  readonly method: string;
  readonly target: string;
  readonly fields: HeaderFields;
  readonly body: Uint8Array;
}

/**
 * Each request is matched with its route once, before any other step. The fast path works without Fetch API objects,
 * which are two thirds of what Yoga costs for a short query.
 */
export function createRequestHandler(options: RequestHandlerOptions) {
  const { routes, compression, caching, pipeline, yogaPlugins, schema, limits, pending, log } = options;
  const requests = createRequestSteps({
    ...options,
    routeOf: createTable(routes, notFoundRoute(routes)),
    graphql: pipeline.handler,
  });
  const { receive, admit, handle, reject } = requests;

  /** Returns the response with all headers, encoded, or a 304 in its place. */
  async function finalizeResponse(
    original: HttpResponse,
    request: AskedRequest,
    admitted: AdmittedRequest,
    url: RequestUrl,
  ): Promise<HttpResponse> {
    const coding = compression.choose(original, request, admitted, url);
    const cacheable = caching(original, request, admitted, coding?.encoding);
    const { response } = cacheable;
    const encoded = coding !== undefined && response.status !== 304;
    if (encoded) response.headers.set('content-encoding', coding.encoding);
    requests.finish(request, response, admitted, url, cacheable);
    const encoding = encoded ? compression.encode(response, coding, admitted) : undefined;
    if (encoding !== undefined) await encoding;
    return response;
  }

  const route = routes.find(({ handler: own }) => own === pipeline.handler) ?? NOT_FOUND_ROUTE;
  const yoga = createYogaServer({
    schema,
    served: { pipeline, requests, route, results: createResults(pipeline.respond, log, limits) },
    own: options.plugins,
    plugins: yogaPlugins,
    log,
  });

  async function throughYoga(request: Request, incomingRequest: IncomingRequest): Promise<HttpResponse> {
    const url = new URL(request.url);
    const progress = beginProgress(receive(request, url, incomingRequest, false));
    const response = await yoga.handle(request, hostContext(request, progress, url));
    return finalizeResponse(response, request, progress, url);
  }

  /** The promise never rejects. */
  async function attempt(
    request: HttpRequest,
    progress: RequestProgress,
    url: RequestUrl,
  ): Promise<HttpResponse> {
    try {
      return (await admit(request, progress, url)) ?? (await handle(request, progress, url));
    } catch (error) {
      return reject(error, progress);
    }
  }

  /**
   * A failed look-up returns false. The restarted request then looks up the session again and is rejected with the
   * reason.
   */
  async function isVerified(
    unverifiedSession: UnverifiedSession,
    { requestId }: ReceivedRequest,
  ): Promise<boolean> {
    try {
      return await requests.inTime(unverifiedSession.verifyByLookUp());
    } catch (error) {
      if (error instanceof ApiError) throw error;
      log.emit('auth.session_not_verified', { requestId, err: error });
      return false;
    }
  }

  /** Returns the response for a cached caller if the session is verified. Otherwise the request starts again. */
  async function respondOnceVerified(
    response: HttpResponse,
    admitted: AdmittedRequest,
    again: () => Promise<HttpResponse>,
  ): Promise<HttpResponse> {
    const { credentials, counted } = admitted;
    // A rejected request may have an unverified session, too.
    if (credentials.unverifiedSession === undefined) return response;
    try {
      if (await isVerified(credentials.unverifiedSession, admitted)) return response;
    } catch (error) {
      return reject(error, admitted);
    }
    // The request starts again without the cached caller. Until here, the request has only taken a token.
    await counted.giveBack?.();
    return again();
  }

  /** The fast path handles the usual methods for paths that every parser reads identically. */
  const fastPath = {
    isFastPathRequest: (method: string | undefined, target: string | undefined): boolean =>
      yogaPlugins.length === 0 && isFastPathRequest(method, target),
    async handle(plain: NodeRequest, incomingRequest: IncomingRequest): Promise<HttpResponse> {
      const { method, target, fields, body } = plain;
      const url = urlOf(target, String(fields.host));
      const request = new PlainRequest(method, url.href, fields, body);
      const received = receive(request, url, incomingRequest, true);
      let progress = beginProgress(received);
      const first = await attempt(request, progress, url);
      const response = await respondOnceVerified(first, progress, () => {
        progress = beginProgress({ ...received, allowUnverified: false });
        return attempt(request, progress, url);
      });
      return finalizeResponse(response, request, progress, url);
    },
  };

  return {
    routes,
    fastPath,
    handle: (request: Request, incomingRequest: IncomingRequest): Promise<HttpResponse> =>
      throughYoga(request, { disconnectSignal: createDisconnectSignal(request.signal), ...incomingRequest }),
    async fetch(request: Request, given?: IncomingRequest): Promise<Response> {
      const { method } = request;
      const reservation = given?.reservation ?? pending.reservation();
      const incomingRequest = {
        disconnectSignal: createDisconnectSignal(request.signal),
        ...given,
        reservation,
      };
      const url = new URL(request.url);
      const { protocol, host } = url;
      const target = targetOf(url);
      // A response to HEAD has no body (RFC 9110 §9.3.2).
      const shown = (response: Response) => (method === 'HEAD' ? new Response(null, response) : response);
      try {
        // Sockets have no TLS, so only `http:` takes the fast path.
        if (protocol === 'http:' && fastPath.isFastPathRequest(method, target)) {
          const fields = { host, ...Object.fromEntries(request.headers) };
          const body = new Uint8Array(await request.arrayBuffer());
          const plain = { method, target, fields, body };
          return shown((await fastPath.handle(plain, incomingRequest)).toResponse());
        }
        return shown((await throughYoga(request, incomingRequest)).toResponse());
      } finally {
        reservation.release();
      }
    },
    close: yoga.close,
  };
}

export type RequestHandler = ReturnType<typeof createRequestHandler>;
export type FastPath = RequestHandler['fastPath'];
