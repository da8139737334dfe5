import type { ExecutionResult } from 'graphql';
import { publicError } from '../graphql/mask-error.ts';
import type { MediaType } from './accept.ts';

/** The HTTP status of an executed or refused operation (contract sections 3 and 4, GraphQL over HTTP section 6.4). */
export function statusOf(result: ExecutionResult, mediaType: MediaType): number {
  const errors = (result.errors ?? []).map(publicError);
  const [first] = errors;
  if (first === undefined) return 200;
  const worst = errors.find(({ status }) => status >= 500);
  if (worst !== undefined) return worst.status;
  if (result.data == null) {
    if (errors.every(({ code }) => code === 'FORBIDDEN')) return 403;
    if (errors.every(({ code }) => code === 'UNAUTHENTICATED')) return 401;
  }
  // A `data` entry, even a null one, says that execution began.
  if (result.data !== undefined) return 200;
  if (first.negotiable || first.status === 200) return mediaType === 'application/json' ? 200 : 400;
  return first.status;
}

/** The response as JSON: errors first, as the GraphQL specification suggests (section 7.1). */
export function stringifyResult({ errors, data, extensions }: ExecutionResult): string {
  return JSON.stringify({ errors, data, extensions });
}
