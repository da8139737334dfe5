import type { Caller } from '../../../auth/principal.ts';
import type { Config } from '../../../platform/config/config.ts';
import { ApiError, quoteValue } from '../../../platform/errors.ts';

export type DocumentPolicy = Config['trustedDocuments'];

const STEPS: readonly DocumentPolicy[] = ['off', 'allowed', 'listed', 'required'];

/** Returns the stricter policy of the service and the credentials. */
export function policyFor(service: DocumentPolicy, caller: Caller | undefined): DocumentPolicy {
  const own = caller !== undefined && 'documents' in caller ? caller.documents : undefined;
  return own === undefined || STEPS.indexOf(own) < STEPS.indexOf(service) ? service : own;
}

export const documentNotFound = (id: string): ApiError =>
  new ApiError(
    'DOCUMENT_NOT_FOUND',
    `Document ${quoteValue(id)} is not published. Publish it, or check its id.`,
  );

/** Clients of Apollo's protocol then send the document, and the id again with the next request. */
export const persistedQueryNotFound = (): ApiError => new ApiError('PERSISTED_QUERY_NOT_FOUND');

/** Clients of Apollo's protocol then stop sending ids. */
export const persistedQueryNotSupported = (): ApiError => new ApiError('PERSISTED_QUERY_NOT_SUPPORTED');

export const documentRequired = (policy: DocumentPolicy): ApiError =>
  new ApiError(
    'DOCUMENT_REQUIRED',
    policy === 'required'
      ? 'Only published documents are allowed. Publish the document, then send "documentId" instead of "query".'
      : undefined,
  );
