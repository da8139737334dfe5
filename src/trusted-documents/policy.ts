import type { Caller } from '../auth/principal.ts';
import { ApiError } from '../graphql/errors.ts';
import type { Config } from '../platform/config.ts';

/** Which documents a request may ask for. */
export type DocumentPolicy = Config['trustedDocuments'];

const STEPS: readonly DocumentPolicy[] = ['off', 'allowed', 'listed', 'required'];

/** The policy for a caller: that of the service, or of the credentials where those are stricter. */
export function policyFor(service: DocumentPolicy, caller: Caller | undefined): DocumentPolicy {
  const own = caller !== undefined && 'documents' in caller ? caller.documents : undefined;
  return own === undefined || STEPS.indexOf(own) < STEPS.indexOf(service) ? service : own;
}

/** For an id that nobody has published. Clients of `persistedQuery` know it by its message. */
export const unknownDocument = (persistedQuery: boolean): ApiError =>
  new ApiError(
    'DOCUMENT_NOT_FOUND',
    persistedQuery ? 'PersistedQueryNotFound' : 'There is no published document with this id.',
  );

/** For a text that may not run. */
export const documentRequired = (policy: DocumentPolicy): ApiError =>
  new ApiError(
    'DOCUMENT_REQUIRED',
    policy === 'required'
      ? 'Only published documents may run: send "documentId" instead of "query".'
      : 'Only published documents may run, and this text is not that of one.',
  );
