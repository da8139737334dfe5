import { randomUUID } from 'node:crypto';
import { credentialsMissing, isAnonymous } from '../auth/principal.ts';
import type { Clock } from '../platform/deadline.ts';
import { ApiError } from '../platform/errors.ts';
import type { PendingResponses } from '../platform/fairness/response-memory.ts';
import { normaliseAddress } from '../platform/ip-address.ts';
import type { Logger } from '../platform/log/log.ts';
import { readField } from '../platform/request-fields.ts';
import { badRequest } from './body.ts';
import {
  type AdmittedRequest,
  type FinishedRequest,
  type IncomingRequest,
  isSessionAlone,
  NOTHING_COUNTED,
  type ReceivedRequest,
  type Route,
} from './exchange.ts';
import type { CacheableResponse } from './hooks/caching.ts';
import type { OriginCheck } from './hooks/request-checks.ts';
import type { RequestTraces } from './hooks/tracing.ts';
import {
  type AskedRequest,
  createStageRunner,
  type RequestProgress,
  type ResponseHead,
  responseHooks,
  type ServicePlugin,
} from './lifecycle.ts';
import { type HttpRequest, HttpResponse, type RequestUrl } from './message.ts';
import { type Negotiated, negotiate } from './negotiate.ts';
import { reconnectsAfterEnd } from './response/event-stream-formats.ts';

const LIST = new Intl.ListFormat('en', { type: 'disjunction' });

function checkRoute(request: HttpRequest, admitted: AdmittedRequest, checkOrigin: OriginCheck): void {
  const { method } = request;
  const { route, caller, rejection, credentials, screening } = admitted;
  const error = credentials.error ?? screening;
  // Without authentication or a rate limit, no stage has thrown the error yet.
  if (error !== undefined && route.credentials !== 'optional' && !isSessionAlone(route.credentials))
    throw error;
  if (route.credentials === 'required' && isAnonymous(caller)) throw credentialsMissing();
  if (!route.methods.includes(method))
    throw badRequest(
      `Method ${method} is not allowed at this path. Use ${LIST.format(route.methods)}.`,
      405,
      {
        allow: route.methods.join(', '),
      },
    );
  if (method === 'GET' || method === 'HEAD') return;
  // Routes with `always` were checked before the credentials were looked up.
  const checked = route.originCheck === 'with-cookie' && credentials.place === 'cookie';
  const crossSite = checked ? checkOrigin(request) : undefined;
  if (crossSite !== undefined) throw crossSite;
  if (route.readsBody && rejection !== undefined) throw rejection;
}

export interface RequestServices {
  readonly checkOrigin: OriginCheck;
  readonly traces: RequestTraces | undefined;
  readonly pending: PendingResponses;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface RequestStepsOptions extends RequestServices {
  readonly plugins: readonly ServicePlugin[];
  readonly routeOf: (method: string, url: RequestUrl, accepts: Negotiated) => Route;
  readonly graphql: Route['handler'];
}

/** A Response of the Fetch API has no error codes and no operation. */
export interface FinishedResponse extends ResponseHead, Pick<FinishedRequest, 'errorCodes' | 'operation'> {}

type Cacheability = Pick<CacheableResponse, 'cacheControl' | 'isShared'>;

const NOT_SHARED: Cacheability = { cacheControl: undefined, isShared: false };

export function createRequestSteps(options: RequestStepsOptions) {
  const { plugins, routeOf, graphql, checkOrigin, traces, pending, timeoutMs, clock, log } = options;
  const stages = createStageRunner(plugins, timeoutMs);
  const onResponse = responseHooks(plugins);

  return {
    /** The route is found here once, before any other step looks at the request. */
    receive(
      { method, headers }: AskedRequest,
      url: RequestUrl,
      incomingRequest: IncomingRequest,
      fast: boolean,
    ): ReceivedRequest {
      const accepts = incomingRequest.accepts ?? negotiate(headers.get('accept'));
      const route = routeOf(method, url, accepts);
      const requestId = readField(headers, 'x-request-id') ?? randomUUID();
      const trace = route.probe
        ? undefined
        : traces?.begin({ method, headers, route, requestId, incomingRequest });
      return {
        requestId,
        route,
        startedAtMs: clock.elapsedMs(),
        peerAddress: normaliseAddress(incomingRequest.peerAddress ?? '127.0.0.1'),
        rejection: incomingRequest.rejection,
        malformed: incomingRequest.malformed,
        connection: incomingRequest.connection,
        fast,
        headOnly: method === 'HEAD',
        // The pipeline verifies sessions before it acts. The fast path verifies all other sessions before it
        // responds.
        allowUnverified: fast && route.handler === graphql,
        disconnectSignal: incomingRequest.disconnectSignal,
        mediaType: accepts.single,
        streamType: accepts.stream,
        reservation: incomingRequest.reservation ?? pending.reservation(),
        body: incomingRequest.body,
        trace,
        work: { databaseMs: 0, span: trace?.span, changes: undefined },
      };
    },
    /**
     * Runs the stages before the route. A preflight needs only headers, and a rejected origin gets none. A finished
     * event stream is not opened again. The promise rejects with the rejection of the request.
     * @returns the final response, or undefined if the route must handle the request
     */
    async admit(
      request: HttpRequest,
      progress: RequestProgress,
      url: RequestUrl,
    ): Promise<HttpResponse | undefined> {
      if (request.method === 'OPTIONS') return new HttpResponse('', { status: 204 });
      if (progress.malformed !== undefined) throw progress.malformed;
      const waiting = stages.run(request, progress, url);
      if (waiting !== undefined) await waiting;
      checkRoute(request, progress, checkOrigin);
      const isOver = progress.route.handler === graphql && reconnectsAfterEnd(request, progress);
      return isOver ? new HttpResponse('', { status: 204 }) : undefined;
    },
    async handle(request: HttpRequest, admitted: AdmittedRequest, url: RequestUrl): Promise<HttpResponse> {
      const response = await admitted.route.handler(request, admitted, url);
      if (response !== undefined) return response;
      throw new ApiError('NOT_FOUND', 'This path does not exist. The GraphQL endpoint is /graphql.', {
        status: 404,
      });
    },
    reject: (error: unknown, received: ReceivedRequest): HttpResponse =>
      received.route.errors(error, received, log),
    finish(
      request: AskedRequest,
      response: FinishedResponse,
      progress: AdmittedRequest,
      url: RequestUrl,
      { cacheControl, isShared } = NOT_SHARED,
    ): void {
      const { errorCodes, operation } = response;
      const finished = { ...progress, errorCodes, operation, cacheControl };
      if (isShared) {
        // A shared response must reveal nothing of this request to other clients.
        finished.counted = NOTHING_COUNTED;
        if (request.headers.has('x-request-id')) finished.requestId = randomUUID();
      }
      for (const hook of onResponse) hook(request, response, finished, url);
    },
    inTime: stages.inTime,
  };
}

export type RequestSteps = ReturnType<typeof createRequestSteps>;
