import type { DocumentNode, OperationTypeNode } from 'graphql';
import type { DeprecatedElement } from '../documents/deprecations.ts';
import type { PublishedBy } from '../documents/operation-request.ts';
import type { ReachedOperation } from '../documents/operation-stages.ts';
import type { OperationEffects } from './operation-context.ts';
import type { Outcome } from './outcome.ts';

/** Stages write to this object, so that a rejected operation reports as much as a completed one. */
export interface OperationProgress {
  /** The result of the last stage; undefined if no operation was selected. */
  reached: ReachedOperation | undefined;
  /** Undefined if the execution has not begun. */
  effects: OperationEffects | undefined;
}

export interface OperationResult extends Readonly<OperationProgress> {
  readonly outcome: Outcome;
}

export interface OperationReport {
  readonly kind: OperationTypeNode;
  readonly name: string | undefined;
  /** Undefined if the operation was rejected before it ran. */
  readonly document: DocumentNode | undefined;
  /** True if the operation was only checked, so that a stream token may open it later. */
  readonly isCheckOnly: boolean;
  /** The complexity is 0 if the operation was rejected before its cost was known. */
  readonly complexity: number;
  readonly published: PublishedBy | undefined;
  readonly deprecated: readonly DeprecatedElement[];
}

const NO_ELEMENTS: readonly DeprecatedElement[] = [];

/** @returns undefined if no operation was selected */
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
