import { ApiError } from '../graphql/errors.ts';
import { createDeadline, within } from '../platform/deadline.ts';

/** The error for an operation past its timeout. */
export const tooSlow = (timeoutMs: number): ApiError =>
  new ApiError('TIMEOUT', `The operation took longer than ${timeoutMs} ms and was cancelled.`);

/** Makes a function that rejects with TIMEOUT if work before an operation takes longer than the operation may take. */
export function limitTime(timeoutMs: number): <T>(work: Promise<T>) => Promise<T> {
  const deadline = createDeadline(timeoutMs);
  return (work) => within(deadline, work, () => tooSlow(timeoutMs));
}
