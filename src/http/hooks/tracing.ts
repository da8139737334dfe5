import { rememberTrace } from '../../platform/log/log.ts';
import type { RequestFields } from '../../platform/request-fields.ts';
import type { Attributes, RequestTrace, Tracing } from '../../platform/tracing/tracing.ts';
import type { IncomingRequest, Route } from '../exchange.ts';
import type { ServicePlugin } from '../lifecycle.ts';
import type { RequestUrl } from '../message.ts';
import { shownPath } from './access-log.ts';
import { saysTls } from './proxy-trust.ts';

interface TracedHead {
  readonly method: string;
  readonly headers: RequestFields;
  readonly route: Route;
  readonly requestId: string;
  readonly incomingRequest: IncomingRequest;
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
/** A call of `app.fetch` is from this machine. */
const LOCAL = '127.0.0.1';
const PORTS = { http: 80, https: 443 } as const;
/** The longest host name (RFC 1035 section 2.3.4). */
const MAX_HOST = 253;

/** The server as the client has named it. */
function serverAttributes({ href }: Pick<RequestUrl, 'href'>, scheme: keyof typeof PORTS): Attributes {
  const { hostname, port } = new URL(href);
  return {
    'url.scheme': scheme,
    'server.address': hostname.replace(/^\[(.*)\]$/, '$1').slice(0, MAX_HOST),
    'server.port': port === '' ? PORTS[scheme] : Number(port),
  };
}

/**
 * By OpenTelemetry's conventions for HTTP servers, without what may tell a person (IP addresses, user agents) or be a secret
 * (query strings).
 */
export function createRequestTraces(tracing: Tracing, isTrustedPeer: (address: string) => boolean) {
  return {
    begin({ method, headers, route, requestId, incomingRequest }: TracedHead): RequestTrace {
      const { peerAddress = LOCAL, httpVersion } = incomingRequest;
      const name = `${METHODS.has(method) ? method : 'HTTP'} ${route.path}`;
      const begun = tracing.begin(name, headers.get('traceparent'), isTrustedPeer(peerAddress));
      // An id of the service's own is that of no other request: nothing is to be told apart.
      const isAlone = begun.traceId === undefined && !headers.has('x-request-id');
      const forget = isAlone ? () => undefined : rememberTrace(requestId, begun.traceId);
      return { ...begun, httpVersion, forget };
    },
    /** Ends the span of a request, whose stream may stay open. The last hook: others log the trace id. */
    useTraces: (): ServicePlugin => ({
      name: 'traces',
      stages: {
        finish({ method, headers }, { status }, { route, trace, errorCodes, peerAddress }, url) {
          trace?.forget();
          if (trace?.span === undefined) return;
          const isKnown = METHODS.has(method);
          trace.span.end(
            {
              ...serverAttributes(url, saysTls(headers) && isTrustedPeer(peerAddress) ? 'https' : 'http'),
              'http.request.method': isKnown ? method : '_OTHER',
              'http.request.method_original': isKnown ? undefined : method,
              'http.route': route.path,
              'http.response.status_code': status,
              'network.protocol.version': trace.httpVersion,
              'url.path': shownPath(route, url),
              'content_graph.error.code': errorCodes[0],
            },
            status >= SERVER_ERROR ? String(status) : undefined,
          );
        },
      },
    }),
  };
}

export type RequestTraces = ReturnType<typeof createRequestTraces>;
