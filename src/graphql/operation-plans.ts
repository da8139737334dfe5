import type { FragmentDefinitionNode } from 'graphql';

/** The fragments of a document by name. Without a prototype: clients choose the names. */
export type Fragments = Readonly<Record<string, FragmentDefinitionNode>>;

/**
 * Everything derived from an operation's text, cached with its document. A file that stores something here
 * declares its member next to its own types, as Pothos plugins do.
 */
export interface OperationPlans {
  readonly fragments: Fragments;
  /** The variables in @skip and @include. A plan is valid for one choice of their values. */
  readonly conditions: readonly string[];
  /** The number of the operation's fields with a selection of their own, fragments expanded. */
  readonly objects: number;
  /** The names of all fields of the document. */
  readonly names: ReadonlySet<string>;
}

/**
 * PostgreSQL takes about 70 µs to plan each subquery, however few rows it reads, and it plans every new text.
 * Above this width it is cheaper to read level by level, with statements whose text is always the same.
 */
const MOST_OBJECTS = 100;

/**
 * Whether an operation is too wide for look-ahead and is left to resolvers and loaders. `more` counts subqueries
 * that are not for a field with a selection.
 */
export const isTooWide = ({ objects }: OperationPlans, more = 0): boolean => objects + more > MOST_OBJECTS;
