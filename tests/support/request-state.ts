import { type Head, RequestState } from '../../src/http/exchange.ts';
import { negotiate } from '../../src/http/negotiate.ts';
import { NOTHING } from '../../src/http/routes/table.ts';
import { PendingResponses } from '../../src/platform/fairness/response-memory.ts';
import { createMetrics } from '../../src/platform/metrics/metrics.ts';

/** The state of a request from an address, without a service; `head` is what matters of it. */
export function stateOf(peerAddress = '127.0.0.1', head: Partial<Head> = {}): RequestState {
  const pending = new PendingResponses({ maxBytes: 1e9, maxReceivedBytes: 1e9 }, createMetrics());
  return new RequestState(
    { peerAddress },
    {
      startedAtMs: 0,
      requestId: 'test',
      route: NOTHING,
      accepts: negotiate(null),
      fast: true,
      headOnly: false,
      mayBeProvisional: false,
      reservation: pending.reservation(),
      trace: undefined,
      ...head,
    },
  );
}
