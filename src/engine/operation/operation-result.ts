import type { DocumentNode, OperationTypeNode } from 'graphql';
import type { DeprecatedElement } from '../documents/deprecations.ts';
import type { PublishedBy } from '../documents/operation-request.ts';
import type { ReachedOperation } from '../documents/operation-stages.ts';
import type { OperationEffects } from './operation-context.ts';
import type { Outcome } from './outcome.ts';

/** How far an operation has come. Its stages write to this object, so that a rejection tells as much as a result. */
export interface OperationProgress {
  /** What the last stage has returned; undefined if no operation was selected. */
  reached: ReachedOperation | undefined;
  /** Undefined if the execution has not begun. */
  effects: OperationEffects | undefined;
}

/** What the stages of an operation hand on to the response. */
export interface OperationResult extends Readonly<OperationProgress> {
  readonly outcome: Outcome;
}

/** What log, metrics and caches need to know of an operation. */
export interface OperationReport {
  readonly kind: OperationTypeNode;
  readonly name: string | undefined;
  /** The document of an operation that ran; undefined if the operation was rejected before. */
  readonly document: DocumentNode | undefined;
  /** True if the operation was only checked: a stream token may open it later. */
  readonly isCheckOnly: boolean;
  /** 0 if the operation was rejected before its cost was known. */
  readonly complexity: number;
  readonly published: PublishedBy | undefined;
  readonly deprecated: readonly DeprecatedElement[];
}

const NO_ELEMENTS: readonly DeprecatedElement[] = [];

/** @returns the report of an operation; undefined if none was selected */
export function reportOf(
  { reached, effects }: Readonly<OperationProgress>,
  isCheckOnly = false,
): OperationReport | undefined {
  if (reached === undefined) return undefined;
  const { operation, published } = reached;
  return {
    kind: operation.kind,
    name: operation.name,
    document: effects === undefined ? undefined : operation.document.node,
    isCheckOnly,
    complexity: 'cost' in reached ? reached.cost.complexity : 0,
    published,
    deprecated: 'deprecated' in reached ? reached.deprecated : NO_ELEMENTS,
  };
}
