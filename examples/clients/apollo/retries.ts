import { ApolloLink, type ErrorLike, ServerError } from '@apollo/client';
import { map } from 'rxjs';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;

/** A timeout, still in progress, too many requests, or an error of the service or a proxy: worth another attempt. */
function isTransientStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

/** No answer, one that broke off, or a refusal that passes. */
export function isTransient(error: ErrorLike): boolean {
  return !ServerError.is(error) || isTransientStatus(error.statusCode);
}

/** Milliseconds before attempt 1, 2, …: doubled each time, with jitter, and never less than the service asks for. */
export function pauseMs(attempt: number, error: ErrorLike): number {
  const backoff = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);
  // In seconds. A proxy may send a date, which is not a number (RFC 9110, section 10.2.3).
  const asked = ServerError.is(error) ? Number(error.response.headers.get('retry-after')) : 0;
  return Math.max(backoff, (asked || 0) * 1_000);
}

/**
 * HttpLink passes on the body of a refusal as a result, whatever its status. As an error, the links before this one
 * see it and try again.
 */
export const rejectionsAsErrors = new ApolloLink((operation, forward) =>
  forward(operation).pipe(
    map((result) => {
      const { response } = operation.getContext();
      if (!(response instanceof Response) || !isTransientStatus(response.status)) return result;
      throw new ServerError(`The service answered with the status ${response.status}`, {
        response,
        bodyText: JSON.stringify(result),
      });
    }),
  ),
);
