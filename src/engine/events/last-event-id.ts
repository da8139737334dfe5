import { ApiError } from '../../platform/errors.ts';
import type { RequestFields } from '../../platform/request-fields.ts';
import type { FeedStart } from './feed.ts';

/** The part of a request for a stream that says how the stream begins. */
interface StreamRequest {
  readonly url: string;
  readonly headers: Pick<RequestFields, 'get'>;
}

/**
 * Reads the id of the last event that the client has received. The header wins over the query parameter, because EventSource
 * keeps the URL, with an old id, when it reconnects (HTML section 9.2.2).
 * @returns the id as the client sends it; undefined if the client asks for new events only
 */
export function lastEventId({ url, headers }: StreamRequest): string | undefined {
  return headers.get('last-event-id') || new URL(url).searchParams.get('lastEventId') || undefined;
}

/** @returns the error of a stream that cannot resume after the id */
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
  /** The `extensions` of the body. */
  readonly extensions: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Reads whether heartbeats are sent as events, for clients that cannot see comment lines. The URL, which has the stream token,
 * wins over `extensions.heartbeat`.
 * @throws {ApiError} BAD_REQUEST for any value but "visible"
 */
export function asksForVisibleHeartbeats({ url, extensions }: HeartbeatRequest): boolean {
  const requested = new URL(url).searchParams.get('heartbeat') ?? extensions?.heartbeat;
  if (requested == null) return false;
  if (requested === 'visible') return true;
  throw new ApiError('BAD_REQUEST', 'Parameter "heartbeat" must be "visible", or absent.', { status: 400 });
}
