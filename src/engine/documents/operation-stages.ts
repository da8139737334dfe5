import type { Cost } from './cost.ts';
import type { DeprecatedElement } from './deprecations.ts';
import type { OperationCost, OperationHead, OperationRequest, PublishedBy } from './operation-request.ts';
import type { OperationParams, PreparedDocument, PreparedOperation } from './prepared-operation.ts';

/**
 * The stages `find`, `select`, `measure`, `admit` and `validate` pass these types to each other. Each type includes the
 * results of earlier stages, and no stage changes them.
 */

export interface AskedOperation {
  readonly params: OperationParams;
  readonly request: OperationHead;
  readonly sender: OperationRequest;
}

/** Result of `find`. */
export interface RequestedDocument {
  readonly document: PreparedDocument;
  /** Undefined if the document may run without being published. */
  readonly published: PublishedBy | undefined;
}

/** Result of `select`. The caller may not be allowed to run the operation. */
export interface SelectedOperation {
  readonly operation: PreparedOperation;
  readonly published: PublishedBy | undefined;
}

/** Result of `measure`. The caller may run operations in this way. */
export interface MeasuredOperation extends SelectedOperation {
  readonly cost: Cost;
  /** The cost for `extensions`, if the client asks for it. */
  readonly shownCost: OperationCost | undefined;
}

/** Result of `admit`. The operation is within all limits, but the document may still be invalid. */
export interface AdmittedOperation extends MeasuredOperation {
  /** True if the client asks for the event id that continues after the response to its query. */
  readonly showsEventId: boolean;
  /** True if the client asks for heartbeats as events. */
  readonly visibleHeartbeats: boolean;
}

/** Result of `validate`. The document is valid. */
export interface ValidatedOperation extends AdmittedOperation {
  readonly deprecated: readonly DeprecatedElement[];
  /** True if the client asks for the deprecated elements in `extensions`. */
  readonly showsDeprecations: boolean;
}

export type ReachedOperation = SelectedOperation | MeasuredOperation | AdmittedOperation | ValidatedOperation;

export interface RequestedDocuments {
  /**
   * No promise is returned if this process knows the document.
   * @throws {ApiError} DOCUMENT_NOT_FOUND, DOCUMENT_REQUIRED, or a code of Apollo's `persistedQuery`
   * @throws {GraphQLError} if the document cannot be parsed
   * @throws {DatabaseError}
   */
  find(params: OperationParams, sender: OperationRequest): RequestedDocument | Promise<RequestedDocument>;
  /** Counts a use of an operation that was admitted and is valid. */
  recordUse(selected: SelectedOperation, sender: OperationRequest): void;
  /** @returns a function that stops watching */
  watch(published: PublishedBy, onRetired: () => void): () => void;
}
