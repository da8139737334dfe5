import type { Client } from 'content-graph-client';
import { type EventSourceOptions, followByEventSource } from 'content-graph-client/event-source';

export interface PostChange {
  readonly kind: 'POST_CREATED' | 'POST_UPDATED' | 'POST_DELETED';
  readonly postId: string;
  /** The current post. Null if the post was deleted. */
  readonly post: { readonly id: string; readonly title: string } | null;
}

const CHANGES = `subscription {
  changes(kinds: [POST_CREATED, POST_UPDATED, POST_DELETED]) { kind postId post { id title } }
}`;

/** Calls `onChange` for each change of a post. Rejects if the service rejects the subscription. */
export async function followPosts(
  client: Client,
  onChange: (change: PostChange) => void,
  options: EventSourceOptions,
): Promise<void> {
  const events = followByEventSource<{ changes: PostChange }, object>(client, CHANGES, {}, options);
  for await (const event of events) if (event.type === 'data') onChange(event.data.changes);
}
