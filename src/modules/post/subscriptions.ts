import type { LogEvent } from '../../events/log.ts';
import { builder } from '../../graphql/builder.ts';
import type { Context } from '../../graphql/context.ts';
import { readById } from '../../graphql/read/read.ts';
import type { Queryable } from '../../platform/db/statement.ts';
import { Post, type PostRow, postEntity } from './type.ts';

/** Subscribers who get to an event at the same time share one reading of its post; whoever comes later reads it anew. */
const posts = new WeakMap<LogEvent, Promise<PostRow | undefined>>();

function postOf(event: LogEvent, db: Queryable): Promise<PostRow | undefined> {
  let post = posts.get(event);
  if (post === undefined) {
    post = readById(db, postEntity, event.postId);
    posts.set(event, post);
    const forget = () => posts.delete(event);
    post.then(forget, forget);
  }
  return post;
}

/** An event with its post as it is now. The transport reads the event. */
export interface PostCreated {
  readonly event: LogEvent;
  readonly post: PostRow;
}

/** The events as a subscriber gets them: one whose post is deleted meanwhile is left out. */
async function* postsCreated(events: AsyncIterable<LogEvent>, { db }: Context): AsyncGenerator<PostCreated> {
  for await (const event of events) {
    const post = await postOf(event, db);
    if (post !== undefined) yield { event, post };
  }
}

builder.subscriptionFields((t) => ({
  postCreated: t.field({
    type: Post,
    scope: 'posts:read',
    description:
      'Each post once it is committed, one event a post, in one order for all subscribers. Needs the scope `posts:read`.',
    subscribe: async (_root, _args, context) => postsCreated(await context.events(), context),
    resolve: ({ post }: PostCreated) => post,
  }),
}));
