import { eventKind } from '../../events/kind.ts';

/** Of rows of `comments`, with the author of the post. */
const OF_COMMENT = { root: 'post_id', part: 'id', owner: 'post_author_id' };

export const COMMENT_CREATED = eventKind('COMMENT_CREATED', OF_COMMENT);
export const COMMENT_UPDATED = eventKind('COMMENT_UPDATED', OF_COMMENT);
export const COMMENT_DELETED = eventKind('COMMENT_DELETED', OF_COMMENT);
