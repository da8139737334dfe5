/** An operation to try. */
export interface Example {
  /** The name of its operation, which GraphiQL shows as the title of its tab. */
  readonly name: string;
  readonly query: string;
  readonly variables?: string;
}

/** What `browser/page.js` reads from the page. */
export interface Settings {
  readonly endpoint: string;
  /** Shown in the corner, as HTML. */
  readonly title: string;
  /** The text of the headers editor in every tab. */
  readonly headers: string;
  /** The editor that is open beside the operation. */
  readonly tool: 'variables' | 'headers';
  readonly examples: readonly Example[];
}
