import type { FeedStart } from '../events/feed.ts';

/**
 * What the `subscribe` function of a field returns: where the caller's events start. graphql-js asks for an
 * async iterable there. This one is never iterated: subscribers whose answers are the same share one reading
 * of each event.
 */
export class EventReader implements AsyncIterable<never> {
  readonly start: FeedStart;

  constructor(start: FeedStart) {
    this.start = start;
  }

  [Symbol.asyncIterator](): AsyncIterator<never> {
    throw new Error('events are delivered to groups of subscribers, not iterated');
  }
}
