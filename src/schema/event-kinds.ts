import { eventKind } from '../engine/events/event.ts';

/** Of rows of `comments`, with the author of the post. */
const OF_COMMENT = { root: 'post_id', part: 'id', owner: 'post_author_id' };

export const COMMENT_CREATED = eventKind('COMMENT_CREATED', OF_COMMENT);
export const COMMENT_UPDATED = eventKind('COMMENT_UPDATED', OF_COMMENT);
export const COMMENT_DELETED = eventKind('COMMENT_DELETED', OF_COMMENT);

/** Of rows of `posts`. */
const OF_POST = { root: 'id', owner: 'author_id' };

export const POST_CREATED = eventKind('POST_CREATED', OF_POST);
export const POST_UPDATED = eventKind('POST_UPDATED', OF_POST);
/** Its comments go with it, and have no events of their own. */
export const POST_DELETED = eventKind('POST_DELETED', OF_POST);
