import type { AdmittedRequest, ReceivedRequest } from '../../src/http/exchange.ts';
import { beginProgress } from '../../src/http/lifecycle.ts';
import { NOT_FOUND_ROUTE } from '../../src/http/routes/table.ts';
import { PendingResponses } from '../../src/platform/fairness/response-memory.ts';
import { createMetrics } from '../../src/platform/metrics/metrics.ts';

/** A request from an IP address, without a service; `head` is what matters of it. */
export function admittedRequest(
  peerAddress = '127.0.0.1',
  head: Partial<ReceivedRequest> = {},
): AdmittedRequest {
  const pending = new PendingResponses({ maxBytes: 1e9, maxReceivedBytes: 1e9 }, createMetrics());
  return beginProgress({
    startedAtMs: 0,
    requestId: 'test',
    peerAddress,
    route: NOT_FOUND_ROUTE,
    fast: true,
    headOnly: false,
    allowUnverified: false,
    mediaType: 'application/json',
    streamType: undefined,
    rejection: undefined,
    malformed: undefined,
    connection: undefined,
    disconnectSignal: undefined,
    reservation: pending.reservation(),
    body: undefined,
    trace: undefined,
    work: { databaseMs: 0, span: undefined, changes: undefined },
    ...head,
  });
}
