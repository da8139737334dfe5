import type { RequestTrace } from '../../platform/tracing/span.ts';
import { rememberTrace } from '../../platform/tracing/trace-ids.ts';
import type { Tracing } from '../../platform/tracing/tracing.ts';
import type { RequestFields } from '../../request/request-fields.ts';
import type { Route } from '../../request/request-state.ts';
import type { HttpPlugin } from '../plugin.ts';

interface TracedHead {
  readonly method: string;
  readonly headers: RequestFields;
  readonly route: Route;
  readonly requestId: string;
  /** Undefined for a call of `app.fetch`, which is from this machine. */
  readonly peerAddress: string | undefined;
}

/** The traces of requests. */
export interface RequestTraces {
  begin(head: TracedHead): RequestTrace;
  /** Ends the span of a request, whose stream may stay open. The last hook: others log the trace id. */
  useTraces(): HttpPlugin;
}

/** Of a client's making, any other could be a name that no one can count. */
const METHODS = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'CONNECT',
  'OPTIONS',
  'TRACE',
  'PATCH',
  'QUERY',
]);
const SERVER_ERROR = 500;
const LOCAL = '127.0.0.1';

/** By OpenTelemetry's conventions for HTTP servers, without what may tell a person: addresses, paths, user agents. */
export function createRequestTraces(
  tracing: Tracing,
  isTrustedPeer: (address: string) => boolean,
): RequestTraces {
  return {
    begin({ method, headers, route, requestId, peerAddress = LOCAL }) {
      const name = `${METHODS.has(method) ? method : 'HTTP'} ${route.path}`;
      const begun = tracing.begin(name, headers.get('traceparent'), isTrustedPeer(peerAddress));
      // An id of the service's own is that of no other request: nothing is to be told apart.
      const isAlone = begun.traceId === undefined && !headers.has('x-request-id');
      return { ...begun, forget: isAlone ? () => undefined : rememberTrace(requestId, begun.traceId) };
    },
    useTraces: () => ({
      onResponse({ method }, { status }, state) {
        const { route, trace, errorCodes } = state;
        trace?.forget();
        // An open stream keeps its state.
        state.trace = undefined;
        state.span = undefined;
        trace?.span?.end(
          {
            'http.request.method': METHODS.has(method) ? method : '_OTHER',
            'http.route': route.path,
            'http.response.status_code': status,
            'content_graph.error.code': errorCodes?.[0],
            // That of its own socket: TLS ends at the proxy.
            'url.scheme': 'http',
          },
          status >= SERVER_ERROR ? String(status) : undefined,
        );
      },
    }),
  };
}
