import { FrequentNames } from '../../platform/frequent-names.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { TimingsBy } from '../../platform/timings.ts';
import type { RequestState } from '../../request/request-state.ts';

/** The metric has at most three series for each of these names, times its buckets. */
const MAX_NAMES = 100;
const MAX_NAME = 100;
const BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.5, 2.5, 10];
const newTimings = () => new TimingsBy(BUCKETS_SECONDS);

/**
 * Names come from clients, who can make up any number. The most frequent have series of their own, all others together
 * one. A document that is not valid has no name worth keeping.
 */
export function createOperationTimes(metrics: Metrics) {
  const names = new FrequentNames({ most: MAX_NAMES, create: newTimings });
  const anonymous = newTimings();
  const other = newTimings();

  function* series() {
    const all = [...names.entries(), ['anonymous', anonymous] as const, ['other', other] as const];
    for (const [operation, byKind] of all)
      for (const [kind, timings] of byKind.entries()) yield [{ operation, kind }, timings] as const;
  }

  metrics.readTimings(
    'graphql_operation_duration_seconds',
    'Time from request to response by operation: the 100 most frequent names, all others as "other", without a name "anonymous"; for event streams, until they open.',
    ['operation', 'kind'],
    series,
  );

  function timingsOf({ operationName, document }: RequestState): TimingsBy {
    if (document === undefined) return other;
    // A client may have chosen one of our own words.
    if (operationName === undefined || operationName === 'anonymous') return anonymous;
    if (operationName === 'other') return other;
    const name = operationName.length > MAX_NAME ? operationName.slice(0, MAX_NAME) : operationName;
    return names.use(name) ?? other;
  }

  return {
    note: (state: RequestState, kind: string, seconds: number) =>
      timingsOf(state).of(kind).observe(seconds, state.trace?.span?.traceId),
  };
}
