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

/** Data that is nowhere, for documents that nothing executes. Every text but an instant begins with the mark. */
export const unknownData = (mark: string): Known => ({
  userIds: [`${mark}1`],
  postIds: [`${mark}2`],
  commentIds: [`${mark}3`],
  draftIds: [`${mark}4`],
  keyIds: [`${mark}5`],
  cursors: [`${mark}6`],
  tagCursors: [`${mark}7`],
  texts: [`${mark}8`],
  tags: [`${mark}9`],
  slugs: [`${mark}10`],
  handles: [`${mark}11`],
  instants: ['2026-01-01T00:00:00.000Z'],
  password: `${mark}12`,
});
