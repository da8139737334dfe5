import { bodyOf, isRejection } from '../../model/responses.ts';
import type { RawResponse } from '../../support/keyed.ts';

/** Contract section 9: whether a response says that it cannot know what became of the mutation. */
export function isUnknown(response: RawResponse): boolean {
  if (!isRejection(response, 503, 'SERVICE_UNAVAILABLE')) return false;
  return bodyOf(response).errors?.[0]?.extensions.outcome === 'unknown';
}

/** What may be said where servers are out of reach: nothing was changed, or, of keys in use, nobody knows yet. */
export function isOutage(response: RawResponse): boolean {
  return (
    isRejection(response, 503, 'SERVICE_UNAVAILABLE') ||
    isRejection(response, 504, 'TIMEOUT') ||
    isRejection(response, 409, 'IDEMPOTENCY_IN_PROGRESS')
  );
}
