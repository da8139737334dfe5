/** What of the data an operation can name. */
export interface Known {
  readonly userIds: readonly string[];
  readonly postIds: readonly string[];
  readonly commentIds: readonly string[];
  readonly draftIds: readonly string[];
  readonly keyIds: readonly string[];
  readonly cursors: readonly string[];
  readonly tags: readonly string[];
  readonly slugs: readonly string[];
  readonly handles: readonly string[];
  readonly instants: readonly string[];
  /** The password of each caller that has a session. */
  readonly password: string;
}
