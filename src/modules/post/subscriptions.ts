import type { FeedEvent } from '../../events/feed.ts';
import type { LogEvent } from '../../events/log.ts';
import { builder } from '../../graphql/builder.ts';
import type { Context } from '../../graphql/context.ts';
import { readById, readByIds } from '../../graphql/read/read.ts';
import type { Queryable } from '../../platform/db/statement.ts';
import { Post, type PostRow, postEntity } from './type.ts';

/** Subscribers that reach an event at the same time share one read of its post. Later ones read it again. */
const underway = new WeakMap<LogEvent, Promise<PostRow | undefined>>();

/** Reads the current posts of the events in one statement. */
function readPosts(deliveries: readonly FeedEvent[], db: Queryable): Promise<(PostRow | undefined)[]> {
  const unread = deliveries.map(({ event }) => event).filter((event) => !underway.has(event));
  if (unread.length > 0) {
    const rows = readByIds(
      db,
      postEntity,
      unread.map(({ postId }) => postId),
    );
    unread.forEach((event, index) => {
      const post = rows.then((read) => read[index]);
      const forget = () => underway.delete(event);
      underway.set(event, post);
      post.then(forget, forget);
    });
  }
  return Promise.all(deliveries.map(({ event }) => underway.get(event)));
}

/** An event with its current post. The transport reads `delivery`. */
export interface PostCreated {
  readonly delivery: FeedEvent;
  readonly post: PostRow;
  /** The same event with its post read again; undefined if the post was deleted. Throws DatabaseError. */
  refresh(): Promise<PostCreated | undefined>;
}

function postCreated(delivery: FeedEvent, post: PostRow, db: Queryable): PostCreated {
  return {
    delivery,
    post,
    async refresh() {
      const now = await readById(db, postEntity, post.id);
      return now === undefined ? undefined : postCreated(delivery, now, db);
    },
  };
}

/** A post read longer ago is read again before it is sent: it may have been changed or deleted. */
const FRESH_MS = 100;

/** The events for a subscriber. Events whose post has been deleted are left out. */
async function* postsCreated(
  batches: AsyncIterable<readonly FeedEvent[]>,
  { db }: Context,
): AsyncGenerator<PostCreated> {
  for await (const batch of batches) {
    let rest = batch;
    let size = batch.length;
    while (rest.length > 0) {
      const posts = await readPosts(rest.slice(0, size), db);
      const readAt = performance.now();
      let done = 0;
      for (const post of posts) {
        if (done > 0 && performance.now() - readAt > FRESH_MS) break;
        const delivery = rest[done];
        done += 1;
        if (post !== undefined && delivery !== undefined) yield postCreated(delivery, post, db);
      }
      rest = rest.slice(done);
      // For a slow subscriber, read only as many posts as it takes while they are fresh.
      size = 2 * done;
    }
  }
}

builder.subscriptionFields((t) => ({
  postCreated: t.field({
    type: Post,
    scope: 'posts:read',
    description:
      'Every post once it is committed: one event per post, in the same order for all subscribers.',
    subscribe: async (_root, _args, context) => postsCreated(await context.events(), context),
    resolve: ({ post }: PostCreated) => post,
  }),
}));
