import { ApiError } from '../platform/errors.ts';
import type { RequestState } from './exchange.ts';
import type { HttpRequest, RequestFields } from './message.ts';

/** The id of the last block of a stream that has a single result. It names no event. */
export const END_ID = 'end';

/**
 * The id of the last event that the client has seen. The header wins: EventSource keeps a stale id in its
 * URL.
 */
export function lastEventId({
  url,
  headers,
}: {
  readonly url: string;
  readonly headers: Pick<RequestFields, 'get'>;
}): string | undefined {
  return headers.get('last-event-id') || new URL(url).searchParams.get('lastEventId') || undefined;
}

/** True where an EventSource reconnects after the end of such a stream. Only 204 stops it (HTML section 9.2.2). */
export const reconnectsAfterEnd = ({ method, headers }: HttpRequest, { streamType }: RequestState): boolean =>
  streamType === 'text/event-stream' && method === 'GET' && headers.get('last-event-id') === END_ID;

/** What a subscription's request says of heartbeats. */
interface HeartbeatRequest {
  readonly url: string;
  /** The `extensions` of the body. */
  readonly extensions: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Whether heartbeats are to be events, for clients that cannot see comment lines. The address, where a stream token stands,
 * wins. Throws BAD_REQUEST for anything else than "visible".
 */
export function asksForVisibleHeartbeats({ url, extensions }: HeartbeatRequest): boolean {
  const asked = new URL(url).searchParams.get('heartbeat') ?? extensions?.heartbeat;
  if (asked == null) return false;
  if (asked === 'visible') return true;
  throw new ApiError('BAD_REQUEST', '"heartbeat" must be "visible".', { status: 400 });
}
