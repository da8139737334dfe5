import { bodyOf, isRejection } from '../../model/answers.ts';
import type { RawAnswer } from '../../support/keyed.ts';

/** Contract section 9: whether an answer says that it cannot know what became of the mutation. */
export function isUnknown(answer: RawAnswer): boolean {
  if (!isRejection(answer, 503, 'SERVICE_UNAVAILABLE')) return false;
  return bodyOf(answer).errors?.[0]?.extensions.outcome === 'unknown';
}

/** What may be said where servers are out of reach: nothing was changed, or, of keys in use, nobody knows yet. */
export function isOutage(answer: RawAnswer): boolean {
  return (
    isRejection(answer, 503, 'SERVICE_UNAVAILABLE') ||
    isRejection(answer, 504, 'TIMEOUT') ||
    isRejection(answer, 409, 'IDEMPOTENCY_IN_PROGRESS')
  );
}
