/** What of the data an operation can name. */
export interface Known {
  readonly userIds: readonly string[];
  readonly postIds: readonly string[];
  readonly commentIds: readonly string[];
  readonly draftIds: readonly string[];
  /** Of API keys of the caller `full-session`. */
  readonly keyIds: readonly string[];
  /** Cursors of every list of the schema but that of tags. */
  readonly cursors: readonly string[];
  readonly tagCursors: readonly string[];
  /** What posts have in them, which searches look for. */
  readonly texts: readonly string[];
  readonly tags: readonly string[];
  readonly slugs: readonly string[];
  readonly handles: readonly string[];
  readonly instants: readonly string[];
  /** The password of each caller that has a session. */
  readonly password: string;
}
