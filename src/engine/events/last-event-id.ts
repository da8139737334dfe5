import { ApiError } from '../../platform/errors.ts';
import type { RequestFields } from '../../platform/request-fields.ts';
import type { FeedStart } from './feed.ts';

interface StreamRequest {
  readonly url: string;
  readonly headers: Pick<RequestFields, 'get'>;
}

/**
 * The header wins over the query parameter, because EventSource reconnects to the URL with the old id (HTML §9.2.2).
 */
export function lastEventId({ url, headers }: StreamRequest): string | undefined {
  return headers.get('last-event-id') || new URL(url).searchParams.get('lastEventId') || undefined;
}

export function lastEventIdError(failure: NonNullable<FeedStart['failure']>): ApiError {
  return failure === 'malformed'
    ? new ApiError(
        'BAD_USER_INPUT',
        'Argument "lastEventId" is not an event id of this service. Send an id that a stream has sent.',
        {
          argument: 'lastEventId',
        },
      )
    : new ApiError('EVENT_HISTORY_EXPIRED');
}

interface HeartbeatRequest extends Pick<StreamRequest, 'url'> {
  readonly extensions: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Clients that cannot see comment lines ask for heartbeats as events. The URL, which has the stream token, wins over
 * `extensions.heartbeat`.
 * @throws {ApiError} BAD_REQUEST for any value but "visible"
 */
export function asksForVisibleHeartbeats({ url, extensions }: HeartbeatRequest): boolean {
  const requested = new URL(url).searchParams.get('heartbeat') ?? extensions?.heartbeat;
  if (requested == null) return false;
  if (requested === 'visible') return true;
  throw new ApiError('BAD_REQUEST', 'Parameter "heartbeat" must be "visible", or absent.', { status: 400 });
}
