import { timingSafeEqual } from 'node:crypto';
import { forbidden } from '../../graphql/errors.ts';
import { isLoopbackHost } from '../../platform/config.ts';
import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { errorResponse } from '../error-response.ts';
import type { HttpPlugin } from '../request-state.ts';

export interface MetricsRouteOptions {
  readonly metrics: Metrics;
  readonly token: string | undefined;
  readonly log: Logger;
}

function hasToken(request: Request, token: string | undefined): boolean {
  if (token === undefined) return false;
  const sent = Buffer.from(request.headers.get('authorization') ?? '');
  const expected = Buffer.from(`Bearer ${token}`);
  return sent.length === expected.length && timingSafeEqual(sent, expected);
}

/** From this machine itself, and not through a proxy on it. */
function isLocal(request: Request, peerAddress: string | undefined): boolean {
  return (
    !request.headers.has('x-forwarded-for') &&
    isLoopbackHost((peerAddress ?? '127.0.0.1').replace(/^::ffff:/, ''))
  );
}

/** `/metrics` in Prometheus' text format, for this machine and for bearers of METRICS_TOKEN. */
export function useMetricsRoute({ metrics: { registry }, token, log }: MetricsRouteOptions): HttpPlugin {
  return {
    async onRequest({ request, url, serverContext: { state }, endResponse }) {
      if (url.pathname !== '/metrics') return undefined;
      if (!isLocal(request, state.peerAddress) && !hasToken(request, token)) {
        return endResponse(
          errorResponse(
            forbidden('Metrics are for this machine and for bearers of METRICS_TOKEN.'),
            state,
            log,
          ),
        );
      }
      return endResponse(
        new Response(await registry.metrics(), { headers: { 'content-type': registry.contentType } }),
      );
    },
  };
}
