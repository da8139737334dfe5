import type { ErrorCode } from '../graphql/errors.ts';
import { publicError } from '../graphql/mask-error.ts';
import type { MediaType } from '../request/media-type.ts';
import { errorsOf, hasNoData, type Single } from './outcome.ts';

/** Errors of the document and its variables. No other moment and no other credentials change the response. */
const OF_DOCUMENT: ReadonlySet<ErrorCode> = new Set([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'BAD_USER_INPUT',
  'DEPTH_LIMIT',
  'COMPLEXITY_LIMIT',
]);
/** Apollo Server has status 200 for these, and Apollo's client for iOS reads the errors of no other status. */
const OF_PERSISTED_QUERY: ReadonlySet<ErrorCode> = new Set([
  'PERSISTED_QUERY_NOT_FOUND',
  'PERSISTED_QUERY_NOT_SUPPORTED',
]);

/** The HTTP status of an outcome (contract sections 3 and 4, GraphQL over HTTP section 6.4). */
export function statusOf(outcome: Single, mediaType: MediaType): number {
  if (outcome.kind === 'rendered') return outcome.status;
  const errors = errorsOf(outcome).map(publicError);
  const [first] = errors;
  if (first === undefined) return 200;
  const worst = errors.find(({ status }) => status >= 500);
  if (worst !== undefined) return worst.status;
  if (hasNoData(outcome)) {
    if (errors.every(({ code }) => code === 'FORBIDDEN')) return 403;
    if (errors.every(({ code }) => code === 'UNAUTHENTICATED')) return 401;
  }
  // A `data` entry, even null, means that execution began.
  if (outcome.kind === 'executed') return 200;
  if (OF_PERSISTED_QUERY.has(first.code)) return 200;
  // EventSource shows only what comes with status 200 (decisions/0049-errors-in-event-streams.md).
  if (mediaType === 'text/event-stream' && errors.every(({ code }) => OF_DOCUMENT.has(code))) return 200;
  if (first.negotiable || first.status === 200) return mediaType === 'application/json' ? 200 : 400;
  return first.status;
}
