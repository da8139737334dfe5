import { bodyOf, isRefusal } from '../../model/answers.ts';
import type { RawAnswer } from '../../support/keyed.ts';

/** Contract section 9: whether an answer says that it cannot know what became of the mutation. */
export function isUnknown(answer: RawAnswer): boolean {
  if (!isRefusal(answer, 503, 'SERVICE_UNAVAILABLE')) return false;
  return bodyOf(answer).errors?.[0]?.extensions.outcome === 'unknown';
}

/** What may be said where servers are out of reach: nothing was changed, or, of keys in use, nobody knows yet. */
export function isOutage(answer: RawAnswer): boolean {
  return (
    isRefusal(answer, 503, 'SERVICE_UNAVAILABLE') ||
    isRefusal(answer, 504, 'TIMEOUT') ||
    isRefusal(answer, 409, 'IDEMPOTENCY_IN_PROGRESS')
  );
}
