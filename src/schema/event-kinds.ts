import { type EventColumns, type EventKind, eventKind } from '../engine/events/event.ts';

interface ChangeKind<Name extends string, Shown extends string> extends EventKind<Name> {
  readonly description: string;
  /** A field of `Change`, or undefined for a change of the post itself. */
  readonly shows: Shown | undefined;
}

const postKind = <Name extends string>(name: Name, description: string): ChangeKind<Name, never> => ({
  ...eventKind(name, { aggregateId: 'id', authorId: 'author_id' }),
  description,
  shows: undefined,
});

/** @param shows names the type of the changed row, whose id is in the column `entityId` */
const entityKind = <Name extends string, Shown extends string>(
  name: Name,
  description: string,
  { shows, ...columns }: Required<EventColumns> & { readonly shows: Shown },
): ChangeKind<Name, Shown> => ({ ...eventKind(name, columns), description, shows });

const COMMENT = {
  aggregateId: 'post_id',
  entityId: 'id',
  authorId: 'post_author_id',
  shows: 'comment',
} as const;

export const POST_CREATED = postKind('POST_CREATED', 'A post was created.');
export const POST_UPDATED = postKind(
  'POST_UPDATED',
  'The title, the body, the tags or the slug of a post was changed.',
);
export const POST_DELETED = postKind(
  'POST_DELETED',
  'A post was deleted together with its comments, which have no events.',
);
export const COMMENT_CREATED = entityKind('COMMENT_CREATED', 'A comment was added.', COMMENT);
export const COMMENT_UPDATED = entityKind('COMMENT_UPDATED', 'The body of a comment was changed.', COMMENT);
export const COMMENT_DELETED = entityKind('COMMENT_DELETED', 'A comment was deleted.', COMMENT);

/** The compiler requires a field of `Change` for each type that these kinds show. */
export const CHANGE_KINDS = [
  POST_CREATED,
  POST_UPDATED,
  POST_DELETED,
  COMMENT_CREATED,
  COMMENT_UPDATED,
  COMMENT_DELETED,
] as const;
