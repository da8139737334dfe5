import type { Database } from '../../../src/platform/db/database.ts';
import { statement } from '../../../src/platform/db/statement.ts';
import { type State, withKnown } from './state.ts';

interface StoredPost {
  readonly id: string;
  readonly author: string;
  readonly title: string;
  readonly count: number;
  readonly tags: readonly string[];
  readonly comments: readonly { readonly id: string; readonly author: string; readonly body: string }[];
}

/** What the tables hold of the people of a sequence. */
export interface Snapshot {
  readonly posts: readonly StoredPost[];
  /** The posts of the events since the sequence began. */
  readonly events: readonly string[];
  readonly keys: readonly { readonly id: string; readonly account: string; readonly ended: boolean }[];
  readonly sessions: readonly string[];
  readonly stored: Readonly<Record<string, number>>;
}

const SNAPSHOT = statement<{ found: Snapshot }>(
  'test_snapshot',
  `SELECT json_build_object(
  'posts', (SELECT coalesce(json_agg(json_build_object('id', p.id, 'author', p.author_id, 'title', p.title,
      'count', p.comment_count,
      'tags', (SELECT coalesce(json_agg(t.name ORDER BY t.position), '[]') FROM tags t WHERE t.post_id = p.id),
      'comments', (SELECT coalesce(json_agg(json_build_object('id', c.id, 'author', c.author_id, 'body', c.body)
        ORDER BY c.id), '[]') FROM comments c WHERE c.post_id = p.id)) ORDER BY p.id), '[]')
    FROM posts p WHERE p.author_id = ANY($1::uuid[])),
  'events', (SELECT coalesce(json_agg(e.post_id), '[]') FROM events e WHERE e.id > $2::bigint),
  'keys', (SELECT coalesce(json_agg(json_build_object('id', k.id, 'account', k.user_id,
      'ended', k.revoked_at IS NOT NULL) ORDER BY k.id), '[]') FROM api_keys k WHERE k.user_id = ANY($1::uuid[])),
  'sessions', (SELECT coalesce(json_agg(s.id), '[]') FROM sessions s WHERE s.user_id = ANY($1::uuid[])),
  'stored', (SELECT coalesce(json_object_agg(i.user_id, i.n), '{}') FROM (SELECT user_id, count(*)::int AS n
    FROM idempotency_keys WHERE user_id = ANY($1::uuid[]) GROUP BY user_id) i)) AS found`,
);
const LAST_EVENT = statement<{ id: number }>(
  'test_last_event',
  'SELECT coalesce(max(id), 0)::bigint AS id FROM events',
);

export async function takeSnapshot(database: Database, state: State, firstEvent: bigint): Promise<Snapshot> {
  const people = state.people.map(({ id }) => id);
  const [row] = await database.query(SNAPSHOT, [people, String(firstEvent)]);
  if (row === undefined) throw new Error('the snapshot has no row');
  return row.found;
}

/** The number of the last event so far. */
export async function lastEvent(database: Database): Promise<bigint> {
  const [row] = await database.query(LAST_EVENT, []);
  return BigInt(row?.id ?? 0);
}

const isUnknown = (id: string) => id.startsWith('#');
const sorted = (items: readonly string[]) => [...items].sort();

/** Names what nobody was told the id of, by what it holds. */
function recognise(state: State, { posts, keys }: Snapshot): State {
  const known = new Map<string, string>();
  const free = <T extends { readonly id: string }>(found: readonly T[], taken: readonly string[]) =>
    found.filter(({ id }) => !taken.includes(id) && ![...known.values()].includes(id));
  const commentIds = state.commentIds.filter((id) => !isUnknown(id));
  for (const [id, post] of Object.entries(state.posts)) {
    const same = (found: StoredPost) =>
      found.title === post.title &&
      found.author === state.people[post.author]?.id &&
      JSON.stringify(found.tags) === JSON.stringify(post.tags) &&
      found.comments.length === post.comments.length;
    const found = isUnknown(id)
      ? free(posts, Object.keys(state.posts)).find(same)
      : posts.find((one) => one.id === id);
    if (found === undefined) continue;
    if (isUnknown(id)) known.set(id, found.id);
    for (const comment of post.comments.filter((one) => isUnknown(one.id))) {
      const written = free(found.comments, commentIds).find(
        ({ body, author }) => body === comment.body && author === state.people[comment.author]?.id,
      );
      if (written !== undefined) known.set(comment.id, written.id);
    }
  }
  for (const credential of state.credentials.filter(({ id }) => isUnknown(id))) {
    const taken = state.credentials.map(({ id }) => id);
    const found = free(keys, taken).find(({ account }) => account === state.people[credential.account]?.id);
    if (found !== undefined) known.set(credential.id, found.id);
  }
  return known.size === 0 ? state : withKnown(state, known);
}

/** What the tables must hold, in the form of what they do hold. */
function expectedOf(state: State): Snapshot {
  const idOf = (account: number) => state.people[account]?.id ?? '';
  const stored: Record<string, number> = {};
  for (const slot of Object.keys(state.stored)) {
    const account = idOf(Number(slot.split(' ')[0]));
    stored[account] = (stored[account] ?? 0) + 1;
  }
  return {
    posts: Object.entries(state.posts).map(([id, { author, title, tags, comments }]) => ({
      id,
      author: idOf(author),
      title,
      count: comments.length,
      tags,
      comments: comments.map((one) => ({ id: one.id, author: idOf(one.author), body: one.body })),
    })),
    events: state.announced.map(({ id }) => id),
    keys: state.credentials
      .filter(({ kind }) => kind === 'key')
      .map(({ id, account, endedMs }) => ({ id, account: idOf(account), ended: endedMs !== undefined })),
    sessions: state.credentials
      .filter(({ kind, endedMs }) => kind === 'session' && endedMs === undefined)
      .map(({ id }) => id),
    stored,
  };
}

/** Lines to compare: a line for each row. An event of a post that went at once has an id that nobody knows. */
function linesOf({ posts, events, keys, sessions, stored }: Snapshot, whose: readonly string[]): string[] {
  const known = new Set(whose);
  const byId = <T extends { readonly id: string }>(items: readonly T[]) =>
    [...items].sort((a, b) => (a.id < b.id ? -1 : 1));
  return [
    ...byId(posts).map((post) =>
      JSON.stringify([
        post.id,
        post.author,
        post.title,
        post.count,
        post.tags,
        byId(post.comments).map(({ id, author, body }) => [id, author, body]),
      ]),
    ),
    ...sorted(events.map((id) => (known.has(id) ? `event ${id}` : 'event of a post that nobody saw'))),
    ...byId(keys).map(({ id, account, ended }) => `key ${id} ${account} ${ended}`),
    ...sorted(sessions).map((id) => `session ${id}`),
    ...sorted(Object.entries(stored).map(([account, count]) => `${count} answers for ${account}`)),
  ];
}

/** The state with all ids, where the tables hold just what it says; otherwise where the two differ. */
export function agree(
  state: State,
  found: Snapshot,
): { readonly state: State } | { readonly differs: string } {
  const full = recognise(state, found);
  const ids = full.postIds.filter((id) => !isUnknown(id));
  const [expected, actual] = [linesOf(expectedOf(full), ids), linesOf(found, ids)];
  const missing = expected.filter((line) => !actual.includes(line));
  const extra = actual.filter((line) => !expected.includes(line));
  if (JSON.stringify(expected) === JSON.stringify(actual)) return { state: full };
  return {
    differs: `missing: ${missing.join(' | ') || 'nothing'}; not expected: ${extra.join(' | ') || 'nothing'} (${expected.length} rows and ${actual.length})`,
  };
}
