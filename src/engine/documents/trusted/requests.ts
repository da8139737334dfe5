import { GraphQLError } from 'graphql';
import { type Caller, canExecute, credentialsMissing } from '../../../auth/principal.ts';
import { ApiError, quoteValue } from '../../../platform/errors.ts';
import type { DocumentCache } from '../document-cache.ts';
import type { OperationRequest } from '../operation-request.ts';
import type { RequestedDocument, RequestedDocuments } from '../operation-stages.ts';
import type { OperationParams, PreparedDocument } from '../prepared-operation.ts';
import { onlyLooksAtSchema } from '../prepared-operation.ts';
import { type Catalog, isPublishableId, type KnownText } from './catalog.ts';
import type { DocumentPolicy } from './document-store.ts';
import type { UnpublishedUsage } from './unpublished-usage.ts';

const STEPS: readonly DocumentPolicy[] = ['off', 'allowed', 'listed', 'required'];

/** Returns the stricter policy of the service and the credentials. */
function policyFor(service: DocumentPolicy, caller: Caller | undefined): DocumentPolicy {
  const own = caller !== undefined && 'documents' in caller ? caller.documents : undefined;
  return own === undefined || STEPS.indexOf(own) < STEPS.indexOf(service) ? service : own;
}

const documentNotFound = (id: string): ApiError =>
  new ApiError(
    'DOCUMENT_NOT_FOUND',
    `Document ${quoteValue(id)} is not published. Publish it, or check its id.`,
  );

/** Clients of Apollo's protocol then send the document, and the id again with the next request. */
const persistedQueryNotFound = (): ApiError => new ApiError('PERSISTED_QUERY_NOT_FOUND');

/** Clients of Apollo's protocol then stop sending ids. */
const persistedQueryNotSupported = (): ApiError => new ApiError('PERSISTED_QUERY_NOT_SUPPORTED');

const documentRequired = (policy: DocumentPolicy): ApiError =>
  new ApiError(
    'DOCUMENT_REQUIRED',
    policy === 'required'
      ? 'Only published documents are allowed. Publish the document, then send "documentId" instead of "query".'
      : undefined,
  );

export interface RequestsOptions {
  readonly policy: DocumentPolicy;
  readonly documents: Pick<DocumentCache, 'parse' | 'introspection'>;
  readonly catalog: Catalog;
  readonly uses: UnpublishedUsage;
  readonly recordUse: (id: string) => void;
}

interface NamedDocument {
  readonly id: string;
  /** True if `extensions.persistedQuery` names the id. */
  readonly persistedQuery: boolean;
  readonly policy: DocumentPolicy;
}

export function createRequestedDocuments(options: RequestsOptions): RequestedDocuments {
  const { policy: service, documents, catalog, uses, recordUse } = options;

  /**
   * Rejects the id of an unpublished document. If every document may run and none was ever published,
   * PERSISTED_QUERY_NOT_FOUND would make clients of Apollo's protocol send each document twice.
   */
  async function reject({ id, persistedQuery, policy }: NamedDocument): Promise<never> {
    if (!persistedQuery) throw documentNotFound(id);
    const canBeKnown =
      policy !== 'off' && isPublishableId(id) && (policy !== 'allowed' || (await catalog.hasDocuments()));
    throw canBeKnown ? persistedQueryNotFound() : persistedQueryNotSupported();
  }

  function byId(named: NamedDocument) {
    const { id, policy } = named;
    const accept = (known: KnownText | undefined): RequestedDocument | Promise<never> =>
      known === undefined ? reject(named) : { document: known.prepared(), published: { by: 'id', key: id } };
    if (policy === 'off' || !isPublishableId(id)) return reject(named);
    const found = catalog.byId.get(id);
    return found instanceof Promise ? found.then(accept) : accept(found);
  }

  /** @returns undefined if parsing fails */
  function read(text: string): PreparedDocument | undefined {
    try {
      return documents.parse(text);
    } catch (error) {
      if (error instanceof ApiError || error instanceof GraphQLError) return undefined;
      throw error;
    }
  }

  function introspects(document: PreparedDocument, name: string | undefined): boolean {
    try {
      return documents.introspection && onlyLooksAtSchema(document.operation(name));
    } catch (error) {
      // The document has no such operation, which the client learns only if the document is published.
      if (error instanceof GraphQLError) return false;
      throw error;
    }
  }

  /** Accepts a query string only if its document is published or introspects the schema. */
  function strict(
    policy: DocumentPolicy,
    text: string,
    { operationName: name }: OperationParams,
    { caller }: OperationRequest,
  ) {
    if (policy === 'required' && !documents.introspection) throw documentRequired(policy);
    const document = read(text);
    if (document !== undefined && introspects(document, name)) return { document, published: undefined };
    // Errors of a document that may not run do not help its client.
    if (document === undefined || policy === 'required' || !canExecute(caller))
      throw documentRequired(policy);
    const { digest } = document;
    const accept = (isListed: boolean | undefined): RequestedDocument => {
      if (isListed === true) return { document, published: { by: 'digest', key: digest } };
      uses.note(caller, document);
      throw documentRequired(policy);
    };
    const found = catalog.byDigest.get(digest);
    return found instanceof Promise ? found.then(accept) : accept(found);
  }

  function choose(params: OperationParams, sender: OperationRequest) {
    const { documentId: id, persistedQuery = false, query = '' } = params;
    const policy = policyFor(service, sender.caller);
    if (id !== undefined) {
      // Callers without permissions may only introspect, so other requests cost no statement.
      if (!documents.introspection && !canExecute(sender.caller)) throw credentialsMissing();
      return byId({ id, persistedQuery, policy });
    }
    const open = policy === 'off' || policy === 'allowed';
    return open
      ? { document: documents.parse(query), published: undefined }
      : strict(policy, query, params, sender);
  }

  /** Callers without permissions always get 401 (contract: credentials). */
  const rejection = (error: unknown, { caller }: OperationRequest): unknown =>
    canExecute(caller) ? error : credentialsMissing();

  return {
    find(params, sender) {
      try {
        const found = choose(params, sender);
        if (!(found instanceof Promise)) return found;
        return found.catch((error: unknown) => {
          throw rejection(error, sender);
        });
      } catch (error) {
        throw rejection(error, sender);
      }
    },
    recordUse({ operation, published }, { caller }) {
      if (published?.by === 'id') recordUse(published.key);
      else if (policyFor(service, caller) !== 'off' && !onlyLooksAtSchema(operation))
        uses.note(caller, operation.document);
    },
    watch: catalog.watch,
  };
}
