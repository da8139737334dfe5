import { Registry } from 'prom-client';
import type { FailureCounter } from '../../auth/login.ts';
import { hashSecret, matchesSecret } from '../../auth/secrets.ts';
import type { SecurityLog } from '../../auth/security-log.ts';
import { type Clock, systemClock } from '../../platform/deadline.ts';
import { type ApiError, forbidden, unauthenticated } from '../../platform/errors.ts';
import { formatIpOwner } from '../../platform/ip-address.ts';
import { createOpenMetricsRegistry, type Metrics } from '../../platform/metrics/metrics.ts';
import type { LocatedRequest, RouteHandler } from '../exchange.ts';
import type { ProxyTrust } from '../hooks/proxy-trust.ts';
import { isLocalVisit } from '../local-request.ts';
import { type HttpRequest, HttpResponse } from '../message.ts';
import { type BucketPolicy, memoryBuckets } from '../rate-limit/bucket-store.ts';

/** Occasional requests get fresh metrics. Floods get the last metrics, at most 0.1 s old. */
const MAKINGS: BucketPolicy = { burst: 20, perSecond: 10 };

export function createThrottledText(
  make: () => Promise<string>,
  clock: Pick<Clock, 'elapsedMs'>,
): () => Promise<string> {
  const bucket = { name: 'makings', policy: MAKINGS };
  const buckets = memoryBuckets(clock, 1);
  let last: Promise<string> | undefined;
  let making = false;
  return async () => {
    // Concurrent requests share one result, because a burst of them would block the process.
    if (making && last !== undefined) return last;
    const { allowed } = await buckets.take(bucket);
    if (last === undefined || (allowed && !making)) {
      making = true;
      const made = make().finally(() => {
        making = false;
      });
      last = made;
      made.catch(() => {
        if (last === made) last = undefined;
      });
    }
    return last;
  };
}

interface MetricsRouteOptions {
  readonly metrics: Metrics;
  readonly token: string | undefined;
  readonly findTransportProblem: ProxyTrust['findTransportProblem'];
  readonly failure: FailureCounter['failure'];
  readonly securityLog: SecurityLog;
}

/** Prometheus lists OpenMetrics first in its Accept header. */
const OPEN_METRICS = /application\/openmetrics-text(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i;

/**
 * `/metrics` responds in Prometheus' text format or, if requested, in OpenMetrics, which has exemplars. Requests from
 * this machine under a local name need no token. All other requests need METRICS_TOKEN.
 */
export function createMetricsHandler(options: MetricsRouteOptions): RouteHandler {
  const { token, findTransportProblem, failure, securityLog } = options;
  const { registry } = options.metrics;
  // Collecting takes milliseconds, because process metrics are read from the operating system. The limit protects the
  // process, so it uses the real clock.
  const plain = createThrottledText(() => registry.metrics(), systemClock);
  const open = createThrottledText(() => createOpenMetricsRegistry(registry).metrics(), systemClock);

  async function rejectionOf(
    request: HttpRequest,
    located: LocatedRequest,
    hostname: string,
  ): Promise<ApiError | undefined> {
    if (isLocalVisit(located, hostname)) return undefined;
    if (token === undefined)
      return forbidden(
        'Metrics are available only on the machine of the service, at http://localhost or 127.0.0.1. (Operator: set METRICS_TOKEN.)',
      );
    const sent = request.headers.get('authorization');
    const problem = sent === null ? undefined : findTransportProblem(request, located);
    if (problem !== undefined) return forbidden(problem);
    if (sent !== null) {
      if (matchesSecret(sent, hashSecret(`Bearer ${token}`))) return undefined;
      await failure(formatIpOwner(located.clientAddress));
      securityLog.failedCredential(located, {
        kind: 'metrics-token',
        reason: 'The token is not METRICS_TOKEN.',
      });
    }
    return unauthenticated(
      'Metrics require the bearer token that METRICS_TOKEN sets, except on the machine of the service.',
    );
  }

  return async (request, admitted, { hostname }) => {
    const rejection = await rejectionOf(request, admitted, hostname);
    if (rejection !== undefined) throw rejection;
    const isOpen = OPEN_METRICS.test(request.headers.get('accept') ?? '');
    const type = isOpen ? Registry.OPENMETRICS_CONTENT_TYPE : registry.contentType;
    return new HttpResponse(await (isOpen ? open() : plain()), {
      headers: { 'content-type': type },
    });
  };
}
