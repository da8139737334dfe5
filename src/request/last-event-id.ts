import type { RequestFields } from './request-fields.ts';

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
