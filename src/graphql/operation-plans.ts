/** How much of the graph an operation names. */
export interface Width {
  /** Fields with a selection of their own, each as often as fragments bring it in. */
  readonly objects: number;
  /** The names of all fields. */
  readonly names: ReadonlySet<string>;
}

/**
 * What was worked out of an operation's text, kept with it for as long as its document is. A file that keeps something
 * here declares its member beside its own types, as Pothos' plugins declare theirs.
 */
export interface OperationPlans {
  width?: Width;
}
