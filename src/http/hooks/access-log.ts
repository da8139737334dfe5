import { clientIdOf, clientOf, reportedClient } from '../../auth/principal.ts';
import type { Restrictions } from '../../auth/restrictions.ts';
import { shapeOf } from '../../engine/documents/analysis.ts';
import type { OperationReport } from '../../engine/operation/operation-result.ts';
import type { Clock } from '../../platform/deadline.ts';
import { ERRORS } from '../../platform/errors.ts';
import { TopNames } from '../../platform/fairness/usage.ts';
import type { Logger } from '../../platform/log/log.ts';
import { createLogRateLimiter } from '../../platform/log/log-limits.ts';
import { LabelledHistogram } from '../../platform/metrics/instruments.ts';
import type { Metrics } from '../../platform/metrics/metrics.ts';
import type { FinishedRequest, Route } from '../exchange.ts';
import type { ServicePlugin } from '../lifecycle.ts';
import type { RequestUrl } from '../message.ts';

const MINUTE_MS = 60_000;
/** Further clients within a minute are counted together. */
const MAX_CLIENTS = 1_000;
const OTHERS = 'other';
const TOO_MANY_REQUESTS = 429;
const FORBIDDEN = 403;
/** The metric names this many clients. */
const MAX_REPORTED = 100;

/**
 * Requests from blocked IP addresses and requests over a limit share log lines. At the end of a minute, one line for
 * each client counts its further rejections.
 */
export function createRejectionLog(log: Logger, metrics: Metrics, isBlocked: Restrictions['blocks']) {
  const rejections = metrics.fastCounter(
    'content_graph_client_rejected_requests_total',
    'Requests rejected with 429 or for a blocked IP address, by id of a key or application, or kind of credentials.',
    ['client'],
  );
  rejections.add('anonymous', '', 0);
  const reported = new Set<string>();
  let counted = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;

  function endMinute(): void {
    clearTimeout(timer);
    timer = undefined;
    const rejected = counted;
    counted = new Map();
    for (const [client, more] of rejected)
      if (more > 0)
        log.emit('http.requests_rejected', {
          client: client.replace(/^address:/, 'ip:'),
          rejectedCount: more,
        });
  }

  function count({ caller }: FinishedRequest): void {
    const { client } = reportedClient(caller);
    if (reported.size < MAX_REPORTED) reported.add(client);
    rejections.add(reported.has(client) ? client : OTHERS);
  }

  return {
    /** True for the first rejection of a client in a minute. Further rejections are only counted. */
    hasLine(finished: FinishedRequest, status: number): boolean {
      if (status !== TOO_MANY_REQUESTS && !(status === FORBIDDEN && isBlocked(finished))) return true;
      count(finished);
      timer ??= setTimeout(endMinute, MINUTE_MS).unref();
      const own = clientOf(finished);
      const client = counted.has(own) || counted.size < MAX_CLIENTS ? own : OTHERS;
      const known = counted.get(client);
      counted.set(client, known === undefined ? 0 : known + 1);
      return known === undefined;
    },
    close: endMinute,
  };
}

export type RejectionLog = ReturnType<typeof createRejectionLog>;

/** The metric has at most three series for each of these names, times its buckets. */
const MAX_NAMES = 100;
/** Clients may send operation names as long as the body. */
const MAX_NAME = 100;
const BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.5, 2.5, 10];
const newHistogram = () => new LabelledHistogram(BUCKETS_SECONDS);

/**
 * Clients can invent any number of operation names, so only the most frequent names have separate series. The name of
 * an invalid document is not recorded.
 */
function createOperationTimes(metrics: Metrics) {
  const names = new TopNames({ most: MAX_NAMES, create: newHistogram });
  const anonymous = newHistogram();
  const other = newHistogram();

  function* series() {
    const all = [...names.entries(), ['anonymous', anonymous] as const, ['other', other] as const];
    for (const [operation, byKind] of all)
      for (const [kind, histogram] of byKind.entries()) yield [{ operation, kind }, histogram] as const;
  }

  metrics.readHistogram(
    'content_graph_graphql_operation_duration_seconds',
    'Time from request to response, or until the stream opens.',
    ['operation', 'kind'],
    series,
  );

  function histogramOf({ name: operationName, document }: OperationReport): LabelledHistogram {
    if (document === undefined) return other;
    // A client may have chosen a reserved name.
    if (operationName === undefined || operationName === 'anonymous') return anonymous;
    if (operationName === 'other') return other;
    const name = operationName.length > MAX_NAME ? operationName.slice(0, MAX_NAME) : operationName;
    return names.use(name) ?? other;
  }

  return {
    note: (operation: OperationReport, seconds: number, traceId: string | undefined) =>
      histogramOf(operation).of(operation.kind).observe(seconds, traceId),
  };
}

/** More lines have no value while every operation is slow. */
const LINES_PER_MINUTE = 10;
const MAX_SHAPE = 10_000;

/**
 * The logged document contains only names of the schema and nothing that the client chose. The line of the request
 * has the same `requestId`.
 */
export function createSlowOperations(thresholdMs: number, log: Logger) {
  const lines = createLogRateLimiter({ log, maximum: LINES_PER_MINUTE, event: 'graphql.slow_operation' });
  return {
    /** Logs an operation that took at least `thresholdMs`. With 0, no operation is slow. */
    note({ operation, requestId, caller, errorCodes }: FinishedRequest, durationMs: number): void {
      const document = operation?.document;
      if (thresholdMs === 0 || durationMs < thresholdMs || document === undefined) return;
      // An unavailable database, such as a database with a full disk, has separate log lines.
      if (errorCodes.includes('SERVICE_UNAVAILABLE')) return;
      // The shape of a large document is expensive, so it is computed only for lines that are written.
      const fields = () => {
        const shape = shapeOf(document).slice(0, MAX_SHAPE);
        return {
          requestId,
          durationMs,
          client: clientIdOf({ caller }),
          operation: operation?.kind,
          documentShape: shape,
        };
      };
      lines.emit(fields);
    },
    close: lines.close,
  };
}

export type SlowOperations = ReturnType<typeof createSlowOperations>;

interface AccessLogOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly slowOperations: SlowOperations;
  readonly rejections: RejectionLog;
}

const DURATION_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const BAD_REQUEST = 400;
/** No path of the service is longer. */
const MAX_PATH = 200;

export const shownPath = ({ logged, path }: Route, { pathname }: Pick<RequestUrl, 'pathname'>): string =>
  logged === 'route' ? path : pathname.slice(0, MAX_PATH);

/**
 * Every response is observed and logged, except for further rejections of a client within a minute. The line never
 * has headers, query string, document, variables or body, which may contain secrets.
 */
export function useAccessLog(options: AccessLogOptions): ServicePlugin {
  const { clock, log, metrics, slowOperations, rejections } = options;
  const requests = metrics.fastCounter('content_graph_http_requests_total', 'HTTP responses.', [
    'route',
    'status',
  ]);
  const errors = metrics.fastCounter('content_graph_response_errors_total', 'Errors in responses.', ['code']);
  for (const code of Object.keys(ERRORS)) errors.add(code, '', 0);
  const times = createOperationTimes(metrics);
  const operations = metrics.fastCounter(
    'content_graph_graphql_operations_total',
    'GraphQL operations, by code of the first error, if any.',
    ['kind', 'code'],
  );
  const duration = metrics.labelledHistogram(
    'content_graph_http_request_duration_seconds',
    'Time from request to response, or until the stream opens.',
    DURATION_BUCKETS_SECONDS,
    'route',
  );
  return {
    name: 'access-log',
    stages: {
      finish(request, response, finished, url) {
        const { route, errorCodes, operation, trace, work } = finished;
        const { path, probe } = route;
        const elapsedMs = clock.elapsedMs() - finished.startedAtMs;
        const durationMs = Math.round(elapsedMs);
        requests.add(path, response.status);
        duration.of(path).observe(elapsedMs / 1000, trace?.span?.traceId);
        for (const code of errorCodes) errors.add(code);
        if (operation !== undefined && !operation.isCheckOnly) {
          operations.add(operation.kind, errorCodes[0] ?? '');
          times.note(operation, elapsedMs / 1000, trace?.span?.traceId);
        }
        const client = clientIdOf(finished);
        if (rejections.hasLine(finished, response.status)) {
          const { deprecated = [], published } = operation ?? {};
          const line = {
            requestId: finished.requestId,
            traceId: trace?.traceId,
            method: request.method,
            path: shownPath(route, url),
            status: response.status,
            durationMs,
            client,
            // Without credentials, only the IP address distinguishes clients.
            clientIp: client === undefined ? finished.clientAddress : undefined,
            operation: operation?.kind,
            operationName: operation?.name?.slice(0, MAX_NAME),
            fields: work.changes?.fields,
            changedIds: work.changes?.ids,
            documentId: published?.by === 'id' ? published.key : undefined,
            deprecatedElements:
              deprecated.length === 0 ? undefined : deprecated.map(({ element }) => element),
            errorCodes: errorCodes.length === 0 ? undefined : errorCodes,
          };
          // Probes come every few seconds.
          if (probe && response.status < BAD_REQUEST) log.emit('http.request', line, 'debug');
          else log.emit('http.request', line);
        }
        slowOperations.note(finished, durationMs);
      },
    },
  };
}
