import { eventKind } from '../../events/kind.ts';

/** Of rows of `posts`. */
const OF_POST = { root: 'id', owner: 'author_id' };

export const POST_CREATED = eventKind('POST_CREATED', OF_POST);
export const POST_UPDATED = eventKind('POST_UPDATED', OF_POST);
/** Its comments go with it, and have no events of their own. */
export const POST_DELETED = eventKind('POST_DELETED', OF_POST);
