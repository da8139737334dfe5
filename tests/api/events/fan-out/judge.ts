import { expect } from 'vitest';
import { decodeEventId } from '../../../../src/events/event-id.ts';
import type { Database } from '../../../../src/platform/db/database.ts';
import { statement } from '../../../../src/platform/db/statement.ts';
import { type Got, type KnownPost, postIn } from './operations.ts';
import type { Subscription, World } from './world.ts';

interface LoggedEvent {
  readonly number: number;
  readonly post: KnownPost;
}

/** The events of the posts of a world, in the order in which everyone must get them. */
export interface Log {
  readonly events: readonly LoggedEvent[];
  /** The place in the order of each event by its number, of other worlds too. */
  readonly places: ReadonlyMap<number, number>;
}

const EVENTS = statement<{ id: number; postId: string }>(
  'all_events',
  `SELECT id, root_id AS "postId" FROM events WHERE kind = 'POST_CREATED' ORDER BY events.xid, events.id`,
);

function numberOf(eventId: string): number {
  const decoded = decodeEventId(eventId);
  if (decoded === undefined) throw new Error(`not an event id: ${eventId}`);
  return decoded.event.id;
}

export async function logOf({ posts }: World, database: Database): Promise<Log> {
  const byId = new Map(posts.map((post) => [post.id, post]));
  const rows = await database.query(EVENTS, []);
  return {
    places: new Map(rows.map(({ id }, place) => [id, place])),
    events: rows.flatMap(({ id, postId }) => {
      const post = byId.get(postId);
      return post === undefined ? [] : [{ number: id, post }];
    }),
  };
}

/** Whether an event id is that of an event. */
export const isOf = (event: LoggedEvent | undefined, eventId: string): boolean =>
  event?.number === numberOf(eventId);

/** Checks one event: the post as it was when the subscriber came, or later. */
function judgeEvent(
  { data, errors }: Got,
  post: KnownPost,
  { operation, reader, floor }: Subscription,
): void {
  const known = floor.get(post.id);
  const tellsGone = operation.changes === true;
  if (!tellsGone) expect(known?.deleted ?? false).toBe(false);
  if (operation.refused?.(post, reader)) {
    expect(data).toBeNull();
    expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
    return;
  }
  expect(errors).toBeUndefined();
  const shown = postIn(operation, data);
  if (tellsGone && shown === null) {
    expect(post.deleted).toBe(true);
    return;
  }
  expect(known?.deleted ?? false).toBe(false);
  const { id, title, comments, commentsConnection, ...rest } = shown;
  expect([id, rest]).toEqual([post.id, operation.expected(post, reader)]);
  const [number, version] = title.split(':').map(Number);
  expect(number).toBe(post.number);
  expect(version).toBeGreaterThanOrEqual(known?.version ?? 0);
  expect(version).toBeLessThanOrEqual(post.version);
  const { commentsOf, mostComments = 0 } = operation;
  if (commentsOf === undefined) return;
  const bodies = commentsOf({ comments, commentsConnection });
  expect(bodies).toEqual(bodies.map((_, n) => ({ body: `comment ${n}` })));
  expect(bodies.length).toBeGreaterThanOrEqual(Math.min(mostComments, known?.comments ?? 0));
  expect(bodies.length).toBeLessThanOrEqual(Math.min(mostComments, post.comments));
}

/** Checks all that a subscriber got: in order, nothing twice, nothing left out, nothing that is not for it. */
export function judge(subscription: Subscription, { events, places }: Log): void {
  const { stream, transport, operation, reader, excluded, after, left } = subscription;
  const placeOf = (number: number) => places.get(number) ?? -1;
  const start = after === undefined ? -1 : placeOf(numberOf(after));
  const { authorId = undefined, changes = false } = operation;
  const due = events.filter(
    ({ number, post }) =>
      !excluded.has(post.id) &&
      placeOf(number) > start &&
      (authorId === undefined || post.authorId === authorId),
  );
  const got = stream.got.map((event) => ({ event, number: numberOf(event.eventId) }));
  const indexes = got.map(({ number }) => due.findIndex((event) => event.number === number));
  expect(indexes).toEqual([...new Set(indexes)].sort((a, b) => a - b));
  expect(indexes).not.toContain(-1);
  for (const [n, { event }] of got.entries()) {
    const post = due[indexes[n] ?? -1]?.post;
    if (post !== undefined) judgeEvent(event, post, subscription);
  }
  // A subscriber that has left may lack what came after its last event.
  const ended = left || reader.revoked;
  const last = ended ? (indexes.at(-1) ?? -1) : due.length - 1;
  const missing = due
    .slice(0, last + 1)
    .filter(({ post }, n) => (changes || !post.deleted) && !indexes.includes(n));
  expect(missing.map(({ post }) => post.number)).toEqual([]);
  if (left) return;
  expect(stream.ended).toBe(reader.revoked ? 'complete' : undefined);
  expect(stream.refusal).toBe(reader.revoked ? 'UNAUTHENTICATED' : undefined);
  const position =
    reader.revoked && transport === 'multipart' ? (got.at(-1)?.event.eventId ?? stream.startId) : undefined;
  expect(stream.refusalId).toBe(position);
}
