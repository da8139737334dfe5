import { timingSafeEqual } from 'node:crypto';
import { Registry } from 'prom-client';
import type { FailureCounter } from '../../auth/login.ts';
import type { SecurityLog } from '../../auth/security-log.ts';
import { type Clock, systemClock } from '../../platform/deadline.ts';
import { type ApiError, forbidden, unauthenticated } from '../../platform/errors.ts';
import { attemptOrigin, formatIpOwner } from '../../platform/ip-address.ts';
import { createOpenMetricsRegistry, type Metrics } from '../../platform/metrics/metrics.ts';
import type { LocatedRequest, RouteHandler } from '../exchange.ts';
import { isLocalVisit } from '../local-request.ts';
import { type HttpRequest, HttpResponse } from '../message.ts';
import { type BucketPolicy, memoryBuckets } from '../rate-limit/bucket-store.ts';

/** Occasional requests get a fresh text. Floods get the last one, at most a tenth of a second old. */
const MAKINGS: BucketPolicy = { burst: 20, perSecond: 10 };

/** Shares a text that is expensive to produce, and refreshes it at a limited rate. */
export function createThrottledText(
  make: () => Promise<string>,
  clock: Pick<Clock, 'elapsedMs'>,
): () => Promise<string> {
  const bucket = { name: 'makings', policy: MAKINGS };
  const buckets = memoryBuckets(clock, 1);
  let last: Promise<string> | undefined;
  let making = false;
  return async () => {
    // Concurrent requests share one result, or a burst of them would block the process.
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
  /** Whether the token was protected in transit. */
  readonly isSecure: (request: HttpRequest, located: LocatedRequest) => boolean;
  /** Counts a wrong token. Rejects with RATE_LIMITED if there were too many. */
  readonly failure: FailureCounter['failure'];
  readonly securityLog: SecurityLog;
}

/** Prometheus names it first. */
const OPEN_METRICS = /application\/openmetrics-text(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i;

function hasToken(request: HttpRequest, token: string | undefined): boolean {
  if (token === undefined) return false;
  const sent = Buffer.from(request.headers.get('authorization') ?? '');
  const expected = Buffer.from(`Bearer ${token}`);
  return sent.length === expected.length && timingSafeEqual(sent, expected);
}

/**
 * `/metrics` in Prometheus' text format or, if asked for, OpenMetrics, which has exemplars. Open to requests from this
 * machine under a local name, and to bearers of METRICS_TOKEN.
 */
export function createMetricsHandler({
  metrics: { registry },
  token,
  isSecure,
  failure,
  securityLog,
}: MetricsRouteOptions): RouteHandler {
  // Each text takes milliseconds, because process metrics are read from the operating system. The limit protects the
  // process, so real time counts.
  const plain = createThrottledText(() => registry.metrics(), systemClock);
  const open = createThrottledText(() => createOpenMetricsRegistry(registry).metrics(), systemClock);

  /** Why the request gets no metrics; undefined if it does. */
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
    if (request.headers.has('authorization') && !isSecure(request, located))
      return forbidden(
        'The token is accepted over HTTPS only. Replace the token, because it may have been intercepted.',
      );
    if (hasToken(request, token)) return undefined;
    if (request.headers.has('authorization')) {
      await failure(formatIpOwner(located.clientAddress));
      securityLog.failedCredential(attemptOrigin(located), {
        kind: 'metrics-token',
        reason: 'The token is not METRICS_TOKEN.',
      });
    }
    return unauthenticated(
      'Metrics require the bearer token that METRICS_TOKEN sets, except on the machine of the service.',
      {
        'www-authenticate': 'Bearer',
      },
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
