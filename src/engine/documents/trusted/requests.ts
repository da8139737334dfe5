import { GraphQLError } from 'graphql';
import { canExecute, credentialsMissing } from '../../../auth/principal.ts';
import { ApiError } from '../../../platform/errors.ts';
import type { DocumentCache } from '../document-cache.ts';
import type { OperationRequest } from '../operation-request.ts';
import type { RequestedDocument, RequestedDocuments } from '../operation-stages.ts';
import type { OperationParams, PreparedDocument } from '../prepared-operation.ts';
import { onlyLooksAtSchema } from '../prepared-operation.ts';
import { type Catalog, isPublishableId, type KnownDocument } from './catalog.ts';
import {
  type DocumentPolicy,
  documentNotFound,
  documentRequired,
  persistedQueryNotFound,
  persistedQueryNotSupported,
  policyFor,
} from './policy.ts';
import type { UnpublishedUsage } from './unpublished-usage.ts';

export interface RequestsOptions {
  /** The policy of the service. */
  readonly policy: DocumentPolicy;
  readonly documents: Pick<DocumentCache, 'parse' | 'introspection'>;
  readonly catalog: Catalog;
  readonly uses: UnpublishedUsage;
  /** Records that a document was used. */
  readonly recordUse: (id: string) => void;
}

/** A request for a published document. */
interface NamedDocument {
  readonly id: string;
  /** True where `extensions.persistedQuery` names the id. */
  readonly persistedQuery: boolean;
  readonly policy: DocumentPolicy;
}

/** The documents of requests, as far as the policy lets them run (contract section 3). */
export function createRequestedDocuments(options: RequestsOptions): RequestedDocuments {
  const { policy: service, documents, catalog, uses, recordUse } = options;

  /**
   * Rejects with the rejection of an id that is not published. Where any document may run and none was ever published, clients
   * of Apollo's protocol would send each document twice for ever.
   */
  async function reject({ id, persistedQuery, policy }: NamedDocument): Promise<never> {
    if (!persistedQuery) throw documentNotFound(id);
    const canBeKnown =
      policy !== 'off' && isPublishableId(id) && (policy !== 'allowed' || (await catalog.hasDocuments()));
    throw canBeKnown ? persistedQueryNotFound() : persistedQueryNotSupported();
  }

  function byId(named: NamedDocument) {
    const { id, policy } = named;
    const accept = (known: KnownDocument | undefined): RequestedDocument | Promise<never> =>
      known === undefined ? reject(named) : { document: known.prepared(), published: { by: 'id', key: id } };
    if (policy === 'off' || !isPublishableId(id)) return reject(named);
    const found = catalog.byId.get(id);
    return found instanceof Promise ? found.then(accept) : accept(found);
  }

  /** The document of a text; undefined if it is none. */
  function read(text: string): PreparedDocument | undefined {
    try {
      return documents.parse(text);
    } catch (error) {
      if (error instanceof ApiError || error instanceof GraphQLError) return undefined;
      throw error;
    }
  }

  /** Whether a document asks for nothing but the schema, as tools do. */
  function introspects(document: PreparedDocument, name: string | undefined): boolean {
    try {
      return documents.introspection && onlyLooksAtSchema(document.operation(name));
    } catch (error) {
      // It has no such operation. The client learns that only if the document is published.
      if (error instanceof GraphQLError) return false;
      throw error;
    }
  }

  /** A text where only published ones may run, by themselves or by their id. */
  function strict(
    policy: DocumentPolicy,
    text: string,
    { operationName: name }: OperationParams,
    { caller }: OperationRequest,
  ) {
    if (policy === 'required' && !documents.introspection) throw documentRequired(policy);
    const document = read(text);
    if (document !== undefined && introspects(document, name)) return { document, published: undefined };
    // What is wrong with a text that may not run is of no use to its client.
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
      // Only introspection is open to callers who may run nothing: others cost no statement.
      if (!documents.introspection && !canExecute(sender.caller)) throw credentialsMissing();
      return byId({ id, persistedQuery, policy });
    }
    const open = policy === 'off' || policy === 'allowed';
    return open
      ? { document: documents.parse(query), published: undefined }
      : strict(policy, query, params, sender);
  }

  /** Callers who may run nothing get 401, whatever else is wrong (contract section 3). */
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
