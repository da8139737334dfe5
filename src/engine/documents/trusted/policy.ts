import type { Caller } from '../../../auth/principal.ts';
import type { Config } from '../../../platform/config/config.ts';
import { ApiError } from '../../../platform/errors.ts';

/** Which documents a request may ask for. */
export type DocumentPolicy = Config['trustedDocuments'];

const STEPS: readonly DocumentPolicy[] = ['off', 'allowed', 'listed', 'required'];

/** The policy for a caller: that of the service, or of the credentials where those are stricter. */
export function policyFor(service: DocumentPolicy, caller: Caller | undefined): DocumentPolicy {
  const own = caller !== undefined && 'documents' in caller ? caller.documents : undefined;
  return own === undefined || STEPS.indexOf(own) < STEPS.indexOf(service) ? service : own;
}

export const documentNotFound = (): ApiError =>
  new ApiError('DOCUMENT_NOT_FOUND', 'There is no published document with this id.');

/** Clients of Apollo's protocol send the document then, and the id again the next time. They compare the messages. */
export const persistedQueryNotFound = (): ApiError =>
  new ApiError('PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound');

/** These clients send no ids any more. */
export const persistedQueryNotSupported = (): ApiError =>
  new ApiError('PERSISTED_QUERY_NOT_SUPPORTED', 'PersistedQueryNotSupported');

/** For a text that may not run. */
export const documentRequired = (policy: DocumentPolicy): ApiError =>
  new ApiError(
    'DOCUMENT_REQUIRED',
    policy === 'required'
      ? 'Only published documents may run: send "documentId" instead of "query".'
      : 'Only published documents may run, and this text is not that of one.',
  );
