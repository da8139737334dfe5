import { randomUUID } from 'node:crypto';
import type { Provisional } from '../auth/authenticate.ts';
import { credentialsMissing, isAnonymous } from '../auth/principal.ts';
import type { Clock } from '../platform/deadline.ts';
import { ApiError } from '../platform/errors.ts';
import type { PendingResponses } from '../platform/fairness/response-memory.ts';
import { badRequest } from './body.ts';
import { type Arrival, departureOf, type Head, RequestState, type Route } from './exchange.ts';
import type { Caching } from './hooks/caching.ts';
import type { Compression } from './hooks/compression.ts';
import type { OriginCheck } from './hooks/request-checks.ts';
import type { RequestTraces } from './hooks/tracing.ts';
import { type AskedRequest, createRequestHooks, type HttpPlugin } from './lifecycle.ts';
import {
  type HeaderFields,
  type HttpRequest,
  HttpResponse,
  PlainRequest,
  type RequestUrl,
  readField,
} from './message.ts';
import { negotiate } from './negotiate.ts';
import { createTable, NOTHING, nothingRoute, takes, targetOf, urlOf } from './routes/table.ts';
import { reconnectsAfterEnd } from './stream-parameters.ts';
import { createYogaServer, type YogaOptions } from './yoga/yoga-host.ts';

export interface EntranceOptions extends Pick<YogaOptions, 'pipeline' | 'schema' | 'limits' | 'log'> {
  readonly plugins: readonly HttpPlugin[];
  readonly routes: readonly Route[];
  readonly checkOrigin: OriginCheck;
  readonly compression: Compression;
  readonly caching: Caching;
  /** Plugins of Yoga's ecosystem. If there is one, Yoga handles all requests. */
  readonly yogaPlugins: YogaOptions['plugins'];
  readonly traces: RequestTraces | undefined;
  readonly pending: PendingResponses;
  /** How long a request may wait before its route handles the request. */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** A request as Node's parser delivers it, with its body. */
export interface PlainArrival {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly fields: HeaderFields;
  readonly body: Uint8Array;
}

const LIST = new Intl.ListFormat('en');

/** Throws the refusal of a request that its route does not take. */
function checkRoute(request: HttpRequest, state: RequestState, checkOrigin: OriginCheck): void {
  const { method } = request;
  const { route, caller, refusal, credentialPlace } = state;
  if (route.credentials === 'required' && isAnonymous(caller)) throw credentialsMissing();
  if (!route.methods.includes(method))
    throw badRequest(`This path accepts ${LIST.format(route.methods)} only.`, 405, {
      allow: route.methods.join(', '),
    });
  if (method === 'GET' || method === 'HEAD') return;
  // What is always checked was, before its credentials were looked up.
  const checked = route.originCheck === 'with-cookie' && credentialPlace === 'cookie';
  const crossSite = checked ? checkOrigin(request) : undefined;
  if (crossSite !== undefined) throw crossSite;
  if (route.readsBody && refusal !== undefined) throw refusal;
}

/**
 * Where requests enter. Each is matched with its route here, once, before anything else looks at it.
 * Runs the same plugins and routes for every request. The fast path does it without Fetch API objects, which are two
 * thirds of what Yoga costs for a short query.
 */
export function createEntrance(options: EntranceOptions) {
  const { plugins, routes, checkOrigin, compression, caching, pipeline, yogaPlugins } = options;
  const { schema, limits, traces, pending, timeoutMs, clock, log } = options;
  const hooks = createRequestHooks(
    plugins.flatMap((plugin) => plugin.onRequest ?? []),
    timeoutMs,
  );
  const routeOf = createTable(routes, nothingRoute(routes));
  const onResponse = plugins.flatMap((plugin) => plugin.onResponse ?? []);

  function headOf({ method, headers }: AskedRequest, url: RequestUrl, arrival: Arrival, fast: boolean): Head {
    const accepts = arrival.accepts ?? negotiate(headers.get('accept'));
    const route = routeOf(method, url, accepts);
    const requestId = readField(headers, 'x-request-id') ?? randomUUID();
    return {
      startedAtMs: clock.elapsedMs(),
      requestId,
      route,
      accepts,
      fast,
      headOnly: method === 'HEAD',
      // The pipeline has its callers confirmed before it acts, and `fastPath` all others before they are answered.
      mayBeProvisional: fast && route.answer === pipeline.answer,
      reservation: arrival.reservation ?? pending.reservation(),
      trace: route.probe ? undefined : traces?.begin({ method, headers, route, requestId, arrival }),
    };
  }

  /**
   * The steps before an answer. What they return is the answer already: a preflight is answered by its headers alone, a
   * refused origin gets none, and a stream that is over is not opened again. Rejects with a refusal. Hooks that return
   * nothing are not awaited.
   */
  async function admit(
    request: HttpRequest,
    state: RequestState,
    url: RequestUrl,
  ): Promise<HttpResponse | undefined> {
    if (request.method === 'OPTIONS') return new HttpResponse('', { status: 204 });
    if (state.malformed !== undefined) throw state.malformed;
    const waiting = hooks.run(request, state, url);
    if (waiting !== undefined) await waiting;
    checkRoute(request, state, checkOrigin);
    const isOver = state.route.answer === pipeline.answer && reconnectsAfterEnd(request, state);
    return isOver ? new HttpResponse('', { status: 204 }) : undefined;
  }

  /** Rejects with a refusal. */
  async function answer(request: HttpRequest, state: RequestState, url: RequestUrl): Promise<HttpResponse> {
    const response = await state.route.answer(request, state, url);
    if (response !== undefined) return response;
    throw new ApiError('NOT_FOUND', 'There is nothing at this path.', { status: 404 });
  }

  const refuse = (error: unknown, state: RequestState) => state.route.errors(error, state, log);

  /** What goes out for an answer: in its coding, with its headers, or 304 in its place. */
  async function depart(
    answered: HttpResponse,
    request: AskedRequest,
    state: RequestState,
    url: RequestUrl,
  ): Promise<HttpResponse> {
    const coding = compression.choose(answered, request, state, url);
    const response = caching(answered, request, state, coding?.encoding);
    const encoded = coding !== undefined && response.status !== 304;
    if (encoded) response.headers.set('content-encoding', coding.encoding);
    for (const hook of onResponse) hook(request, response, state, url);
    const encoding = encoded ? compression.encode(response, coding, state) : undefined;
    if (encoding !== undefined) await encoding;
    return response;
  }

  const route = routes.find(({ answer: own }) => own === pipeline.answer) ?? NOTHING;
  const steps = { admit, answer, refuse, pipeline };
  const yoga = createYogaServer({ ...steps, schema, limits, route, plugins: yogaPlugins, log });

  async function throughYoga(request: Request, arrival: Arrival): Promise<HttpResponse> {
    const url = new URL(request.url);
    const state = new RequestState(arrival, headOf(request, url, arrival, false));
    // Yoga refuses HEAD.
    const { headers, signal } = request;
    const asked = state.headOnly ? new Request(request.url, { headers, signal }) : request;
    return depart(await yoga.handle(asked, { arrived: request, state, url }), request, state, url);
  }

  /** Never rejects. */
  async function attempt(request: HttpRequest, state: RequestState, url: RequestUrl): Promise<HttpResponse> {
    try {
      return (await admit(request, state, url)) ?? (await answer(request, state, url));
    } catch (error) {
      return refuse(error, state);
    }
  }

  /** False as well if it cannot be found out: the request that begins anew asks again, and is refused with the reason. */
  async function isConfirmed(provisional: Provisional, { requestId }: RequestState): Promise<boolean> {
    try {
      return await hooks.inTime(provisional.confirm());
    } catch (error) {
      if (error instanceof ApiError) throw error;
      log.debug({ requestId, err: error }, 'the caller could not be confirmed');
      return false;
    }
  }

  /** The response for a remembered caller once the caller is confirmed; the response to a new attempt otherwise. */
  async function confirmed(
    response: HttpResponse,
    state: RequestState,
    again: () => Promise<HttpResponse>,
  ): Promise<HttpResponse> {
    // Whatever the answer is: nothing may have been confirmed for a request that was refused.
    if (state.provisional === undefined) return response;
    try {
      if (await isConfirmed(state.provisional, state)) return response;
    } catch (error) {
      return refuse(error, state);
    }
    // The request starts again without the cached caller. Until here, it has only taken a token.
    await state.giveTokenBack?.();
    return again();
  }

  /** Handles nearly all requests: those of the usual methods, for paths that every parser reads the same way. */
  const fastPath = {
    // Only Yoga runs the hooks of its plugins.
    takes: (method: string | undefined, target: string | undefined): boolean =>
      yogaPlugins.length === 0 && takes(method, target),
    async answer(plain: PlainArrival, arrival: Arrival): Promise<HttpResponse> {
      const { method, target, fields, body } = plain;
      const url = urlOf(target, String(fields.host));
      const request = new PlainRequest(method, url.href, fields, body);
      const head = headOf(request, url, arrival, true);
      let state = new RequestState(arrival, head);
      const first = await attempt(request, state, url);
      const response = await confirmed(first, state, () => {
        state = new RequestState(arrival, { ...head, mayBeProvisional: false });
        return attempt(request, state, url);
      });
      return depart(response, request, state, url);
    },
  };

  return {
    /** All that it answers; any other path is 404. */
    routes,
    fastPath,
    /** Answers through Yoga a request that the fast path does not take. */
    handle: (request: Request, arrival: Arrival): Promise<HttpResponse> =>
      throughYoga(request, { departure: departureOf(request.signal), ...arrival }),
    /** Answers a Fetch API request on the same path as a request from a socket. */
    async fetch(request: Request, given?: Arrival): Promise<Response> {
      const { method } = request;
      const reservation = given?.reservation ?? pending.reservation();
      const arrival = { departure: departureOf(request.signal), ...given, reservation };
      const url = new URL(request.url);
      const { protocol, host } = url;
      const target = targetOf(url);
      // A response to HEAD has no body (RFC 9110 section 9.3.2).
      const shown = (response: Response) => (method === 'HEAD' ? new Response(null, response) : response);
      try {
        // Sockets have no TLS.
        if (protocol === 'http:' && fastPath.takes(method, target)) {
          const fields = { host, ...Object.fromEntries(request.headers) };
          const body = new Uint8Array(await request.arrayBuffer());
          return shown((await fastPath.answer({ method, target, fields, body }, arrival)).toResponse());
        }
        return shown((await throughYoga(request, arrival)).toResponse());
      } finally {
        reservation.release();
      }
    },
    close: yoga.close,
  };
}

export type Entrance = ReturnType<typeof createEntrance>;
export type FastPath = Entrance['fastPath'];
