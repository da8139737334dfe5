import type { RequestState } from '../request/request-state.ts';
import type { PreparedDocument, PreparedOperation } from './prepared-operation.ts';

/** What a request asks for. Its document is a text, or has been published under an id. */
export interface OperationParams {
  readonly query?: string;
  readonly documentId?: string;
  /** True where `extensions.persistedQuery` alone names the id. */
  readonly persistedQuery?: boolean;
  readonly operationName?: string;
  readonly variables?: Record<string, unknown>;
  readonly extensions?: Record<string, unknown>;
}

/** From what a request names to its document. */
export interface RequestedDocuments {
  /**
   * The document of a request, at once if this process knows it. Throws and rejects with the refusal: DOCUMENT_NOT_FOUND,
   * DOCUMENT_REQUIRED, those of Apollo's `persistedQuery` and of a text that cannot be parsed, and DatabaseError.
   */
  find(params: OperationParams, state: RequestState): PreparedDocument | Promise<PreparedDocument>;
  /** Takes note that a valid operation was asked for, once its request is admitted. */
  noteUse(operation: PreparedOperation, state: RequestState): void;
  /** Calls `onRetired` once what a stream depends on is published no more. Returns what ends that. */
  watch(published: NonNullable<RequestState['published']>, onRetired: () => void): () => void;
}
