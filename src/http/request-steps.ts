import { randomUUID } from 'node:crypto';
import { credentialsMissing, isAnonymous } from '../auth/principal.ts';
import type { Clock } from '../platform/deadline.ts';
import { ApiError } from '../platform/errors.ts';
import type { PendingResponses } from '../platform/fairness/response-memory.ts';
import type { Logger } from '../platform/log/log.ts';
import { readField } from '../platform/request-fields.ts';
import { badRequest } from './body.ts';
import { type Arrival, type Head, isSessionAlone, type RequestState, type Route } from './exchange.ts';
import type { OriginCheck } from './hooks/request-checks.ts';
import type { RequestTraces } from './hooks/tracing.ts';
import {
  type AskedRequest,
  createRequestHooks,
  type ResponseHead,
  responseHooks,
  type ServicePlugin,
} from './lifecycle.ts';
import { type HttpRequest, HttpResponse, type RequestUrl } from './message.ts';
import { type Negotiated, negotiate } from './negotiate.ts';
import { reconnectsAfterEnd } from './response/event-stream-formats.ts';

const LIST = new Intl.ListFormat('en');

/** Throws the refusal of a request that its route does not take. */
function checkRoute(request: HttpRequest, state: RequestState, checkOrigin: OriginCheck): void {
  const { method } = request;
  const { route, caller, refusal, credentialPlace, authenticationError } = state;
  const { credentials } = route;
  // A host without a rate limit has not thrown it yet.
  if (authenticationError !== undefined && credentials !== 'optional' && !isSessionAlone(credentials))
    throw authenticationError;
  if (credentials === 'required' && isAnonymous(caller)) throw credentialsMissing();
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

/** What the steps of requests need of the service, whichever host runs them. */
export interface RequestServices {
  readonly checkOrigin: OriginCheck;
  readonly traces: RequestTraces | undefined;
  readonly pending: PendingResponses;
  /** How long a request may wait before its route handles the request. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface RequestStepsOptions extends RequestServices {
  readonly plugins: readonly ServicePlugin[];
  readonly routeOf: (method: string, url: RequestUrl, accepts: Negotiated) => Route;
  /** The answer of the route that executes operations. */
  readonly graphql: Route['answer'];
}

/** The steps around the route of a request. Both hosts run them, with the stages of plugins. */
export function createRequestSteps(options: RequestStepsOptions) {
  const { plugins, routeOf, graphql, checkOrigin, traces, pending, timeoutMs, clock, log } = options;
  const hooks = createRequestHooks(plugins, timeoutMs);
  const onResponse = responseHooks(plugins);

  return {
    /** What the head of a request says. Its route is found here, once, before anything else looks at the request. */
    headOf({ method, headers }: AskedRequest, url: RequestUrl, arrival: Arrival, fast: boolean): Head {
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
        // The pipeline has its callers confirmed before it acts, and the direct path all others before they are answered.
        mayBeProvisional: fast && route.answer === graphql,
        reservation: arrival.reservation ?? pending.reservation(),
        trace: route.probe ? undefined : traces?.begin({ method, headers, route, requestId, arrival }),
      };
    },
    /**
     * The steps before an answer. What they return is the answer already: a preflight is answered by its headers alone, a
     * refused origin gets none, and a stream that is over is not opened again. Rejects with a refusal. Hooks that return
     * nothing are not awaited.
     */
    async admit(
      request: HttpRequest,
      state: RequestState,
      url: RequestUrl,
    ): Promise<HttpResponse | undefined> {
      if (request.method === 'OPTIONS') return new HttpResponse('', { status: 204 });
      if (state.malformed !== undefined) throw state.malformed;
      const waiting = hooks.run(request, state, url);
      if (waiting !== undefined) await waiting;
      checkRoute(request, state, checkOrigin);
      const isOver = state.route.answer === graphql && reconnectsAfterEnd(request, state);
      return isOver ? new HttpResponse('', { status: 204 }) : undefined;
    },
    /** Rejects with a refusal. */
    async answer(request: HttpRequest, state: RequestState, url: RequestUrl): Promise<HttpResponse> {
      const response = await state.route.answer(request, state, url);
      if (response !== undefined) return response;
      throw new ApiError('NOT_FOUND', 'There is nothing at this path.', { status: 404 });
    },
    refuse: (error: unknown, state: RequestState): HttpResponse => state.route.errors(error, state, log),
    /** The stages of plugins after the route. */
    finish(request: AskedRequest, response: ResponseHead, state: RequestState, url: RequestUrl): void {
      for (const hook of onResponse) hook(request, response, state, url);
    },
    /** Rejects with SERVICE_UNAVAILABLE if other work before the operation takes too long. */
    inTime: hooks.inTime,
  };
}

export type RequestSteps = ReturnType<typeof createRequestSteps>;
