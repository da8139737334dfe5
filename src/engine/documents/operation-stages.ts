import type { Cost } from './cost.ts';
import type { DeprecatedElement } from './deprecations.ts';
import type { OperationCost, OperationHead, OperationRequest, PublishedBy } from './operation-request.ts';
import type { OperationParams, PreparedDocument, PreparedOperation } from './prepared-operation.ts';

/**
 * What the stages of an operation hand on to each other: `find`, `select`, `measure`, `admit`, `validate`. Each type has all
 * that the stages before it have found, and no stage changes it.
 */

/** A request for an operation, which every stage gets. */
export interface AskedOperation {
  readonly params: OperationParams;
  readonly request: OperationHead;
  readonly sender: OperationRequest;
}

/** Stage `find`: the document that a request names. */
export interface RequestedDocument {
  readonly document: PreparedDocument;
  /** Undefined if the document may run without being published. */
  readonly published: PublishedBy | undefined;
}

/** Stage `select`: an operation of the document. The caller may not be allowed to run the operation. */
export interface SelectedOperation {
  readonly operation: PreparedOperation;
  readonly published: PublishedBy | undefined;
}

/** Stage `measure`: the caller may run operations in this way, and the cost is known. */
export interface MeasuredOperation extends SelectedOperation {
  readonly cost: Cost;
  /** The cost for `extensions`, if the client asks for it. */
  readonly shownCost: OperationCost | undefined;
}

/** Stage `admit`: within all limits. The document may still be invalid. */
export interface AdmittedOperation extends MeasuredOperation {
  /** True if the client asks for an event id that fits the response to its query. */
  readonly showsEventId: boolean;
  /** True if the client asks for heartbeats as events. */
  readonly visibleHeartbeats: boolean;
}

/** Stage `validate`: the document is valid. */
export interface ValidatedOperation extends AdmittedOperation {
  readonly deprecated: readonly DeprecatedElement[];
  /** True if the client asks for the deprecated elements in `extensions`. */
  readonly showsDeprecations: boolean;
}

/** An operation as far as its stages have come. */
export type ReachedOperation = SelectedOperation | MeasuredOperation | AdmittedOperation | ValidatedOperation;

/** Finds the documents of requests, as far as the policy for published documents lets them run. */
export interface RequestedDocuments {
  /**
   * The document of a request, immediately if this process knows the document. Throws and rejects with the rejection: DOCUMENT_NOT_FOUND,
   * DOCUMENT_REQUIRED, those of Apollo's `persistedQuery` and of a text that cannot be parsed, and DatabaseError.
   */
  find(params: OperationParams, sender: OperationRequest): RequestedDocument | Promise<RequestedDocument>;
  /** Counts a use of an operation that was admitted and is valid. */
  recordUse(selected: SelectedOperation, sender: OperationRequest): void;
  /** Calls `onRetired` when the document of a stream is no longer published. @returns a function that stops watching */
  watch(published: PublishedBy, onRetired: () => void): () => void;
}
