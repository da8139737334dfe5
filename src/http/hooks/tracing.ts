import { addTraceToLog } from '../../platform/log/log.ts';
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

/** Clients can invent any number of other methods. */
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
/** A call of `app.fetch` comes from this machine. */
const LOCAL = '127.0.0.1';
const PORTS = { http: 80, https: 443 } as const;
/** A host name has at most 253 characters (RFC 1035 §2.3.4). */
const MAX_HOST = 253;

/** The attributes name the server as the client does. */
function serverAttributes({ href }: Pick<RequestUrl, 'href'>, scheme: keyof typeof PORTS): Attributes {
  const { hostname, port } = new URL(href);
  return {
    'url.scheme': scheme,
    'server.address': hostname.replace(/^\[(.*)\]$/, '$1').slice(0, MAX_HOST),
    'server.port': port === '' ? PORTS[scheme] : Number(port),
  };
}

/**
 * Attributes follow OpenTelemetry's conventions for HTTP servers, without personal data (IP addresses, user agents)
 * and secrets (query strings).
 */
export function createRequestTraces(tracing: Tracing, isTrustedPeer: (address: string) => boolean) {
  return {
    begin({ method, headers, route, requestId, incomingRequest }: TracedHead): RequestTrace {
      const { peerAddress = LOCAL, httpVersion } = incomingRequest;
      const name = `${METHODS.has(method) ? method : 'HTTP'} ${route.path}`;
      const begun = tracing.begin(name, headers.get('traceparent'), isTrustedPeer(peerAddress));
      // A request id of the service is unique, so nothing must be distinguished by trace.
      const isAlone = begun.traceId === undefined && !headers.has('x-request-id');
      const forget = isAlone ? () => undefined : addTraceToLog(requestId, begun.traceId);
      return { ...begun, httpVersion, forget };
    },
    /**
     * The span ends with the response, while a stream may stay open. The hook must be the last, because other hooks
     * log the trace id.
     */
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
