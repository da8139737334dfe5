/** The size of an operation's selection. */
export interface Width {
  /** The number of fields with a selection of their own, fragments expanded. */
  readonly objects: number;
  /** The names of all fields. */
  readonly names: ReadonlySet<string>;
}

/**
 * Everything derived from an operation's text, cached with its document. A file that stores something here
 * declares its member next to its own types, as Pothos plugins do.
 */
export interface OperationPlans {
  width?: Width;
}
