import type { Database } from '../../database/database.ts';
import { formatTimestamp, type Queryable, statement } from '../../database/statement.ts';
import type { UnitOfWork } from '../../database/unit-of-work.ts';
import type { EventName } from '../../engine/events/event.ts';
import type { SearchDocument, SearchText } from './words.ts';

/** A post in the order of posts. */
export interface PostKey {
  readonly id: string;
  readonly createdAt: Date;
}

/** `posts` compares all posts with the index, `entries` removes the entries of deleted posts. */
export type Phase = 'posts' | 'entries';

export interface IndexPosition extends EventName {
  readonly revision: number;
  readonly generation: string;
  /** The newest post that was ever indexed. Null before the first post. */
  readonly newestAt: Date | null;
  readonly newestId: string | null;
  /** The number of posts in the newest bucket. */
  readonly newestPosts: number;
  /** Null if the index has all posts up to the event. */
  readonly phase: Phase | null;
  readonly phaseAt: Date | null;
  readonly phaseId: string | null;
  readonly rewrites: boolean;
}

const READ_POSITION = statement<IndexPosition>(
  'search_position',
  `SELECT revision, generation, event_id AS "id", event_checksum AS "checksum", newest_at AS "newestAt", newest_id AS "newestId",
     newest_posts AS "newestPosts", phase, phase_at AS "phaseAt", phase_id AS "phaseId", rewrites
   FROM search_position WHERE id = 1`,
);

/** @returns undefined if nothing was ever indexed */
export async function readPosition(db: Queryable): Promise<IndexPosition | undefined> {
  return (await db.query(READ_POSITION, []))[0];
}

const NEXT_BOUND = statement<PostKey>(
  'search_bound',
  `SELECT id, created_at AS "createdAt" FROM posts WHERE (created_at, id) >= ($1::timestamptz, $2::uuid)
   ORDER BY created_at, id OFFSET $3 LIMIT 1`,
);
const NEWEST_POST = statement<PostKey>(
  'search_newest',
  'SELECT id, created_at AS "createdAt" FROM posts ORDER BY created_at DESC, id DESC LIMIT 1',
);
const COUNT_FROM = statement<{ readonly count: number }>(
  'search_count_from',
  `SELECT count(*)::int AS count FROM posts WHERE (created_at, id) BETWEEN ($1::timestamptz, $2::uuid) AND ($3::timestamptz, $4::uuid)`,
);
const BEGIN = statement<{ readonly one: number }>(
  'search_begin',
  `INSERT INTO search_position (id, revision, generation, event_id, event_checksum, newest_at, newest_id, newest_posts, phase)
   VALUES (1, 1, $1, $2, $3, $4, $5, $6, 'posts') ON CONFLICT (id) DO NOTHING RETURNING 1 AS one`,
);
const OPEN_BUCKETS = statement<never>(
  'search_open_buckets',
  `INSERT INTO search_buckets (bucket, from_at, from_id)
   SELECT coalesce((SELECT max(bucket) FROM search_buckets), -1) + g.n, g.at, g.id
   FROM unnest($1::timestamptz[], $2::uuid[]) WITH ORDINALITY AS g(at, id, n)`,
);

/** Before every post. */
const FIRST = { at: '-infinity', id: '00000000-0000-0000-0000-000000000000' };

/** Divides all posts into buckets. The newest bucket has no end. */
async function readBounds(db: Queryable, bucketPosts: number) {
  const bounds = [FIRST];
  for (;;) {
    const { at, id } = bounds.at(-1) ?? FIRST;
    const [bound] = await db.query(NEXT_BOUND, [at, id, bucketPosts]);
    if (bound !== undefined) {
      bounds.push({ at: formatTimestamp(bound.createdAt), id: bound.id });
      continue;
    }
    const [newest] = await db.query(NEWEST_POST, []);
    if (newest === undefined) return { bounds, newest: null, newestPosts: 0 };
    const [counted] = await db.query(COUNT_FROM, [at, id, newest.createdAt, newest.id]);
    return { bounds, newest, newestPosts: counted?.count ?? 0 };
  }
}

/** Begins an index that has no entries. @param event an event after which all changes are still in the log */
export async function beginIndex(
  database: Database,
  { generation, id, checksum }: EventName & { readonly generation: string },
  bucketPosts: number,
): Promise<void> {
  const { bounds, newest, newestPosts } = await readBounds(database, bucketPosts);
  await database.unitOfWork().run(async (work) => {
    const begun = await work.query(BEGIN, [
      ...[generation, id, checksum],
      ...[newest?.createdAt ?? null, newest?.id ?? null, newestPosts],
    ]);
    // Another instance has begun at the same time.
    if (begun.length > 0)
      await work.query(OPEN_BUCKETS, [bounds.map(({ at }) => at), bounds.map((bound) => bound.id)]);
  });
}

const COMPARE_ALL = (condition: string, changes: string) =>
  `UPDATE search_position SET revision = revision + 1, phase = 'posts', phase_at = NULL, phase_id = NULL${changes}
   WHERE id = 1${condition} RETURNING revision`;
const MOVE_TO_EVENT = statement<{ readonly revision: number }>(
  'search_move',
  COMPARE_ALL(' AND revision = $1', ', generation = $2, event_id = $3, event_checksum = $4'),
);
const REBUILD = statement<{ readonly revision: number }>(
  'search_rebuild',
  COMPARE_ALL('', ', rewrites = true'),
);

/** Continues an index after an event, because the changes before are no longer in the log. */
export async function moveIndex(
  db: Queryable,
  { revision }: IndexPosition,
  { generation, id, checksum }: EventName & { readonly generation: string },
): Promise<void> {
  await db.query(MOVE_TO_EVENT, [revision, generation, id, checksum]);
}

/**
 * Makes the service write every entry again while searches continue.
 * @returns false if the service has not begun the index, so that it writes every entry in any case
 */
export async function rebuildIndex(db: Queryable): Promise<boolean> {
  return (await db.query(REBUILD, [])).length > 0;
}

export interface PostText extends PostKey, SearchText {
  readonly version: number;
}

const READ_POSTS = statement<PostText>(
  'search_posts',
  `SELECT id, created_at AS "createdAt", title, body, author_id AS "authorId", version,
     ARRAY(SELECT name FROM tags WHERE post_id = posts.id) AS tags FROM posts WHERE id = ANY($1::uuid[])`,
);

export const readPosts = (db: Queryable, ids: readonly string[]): Promise<PostText[]> =>
  db.query(READ_POSTS, [ids]);

export interface ComparedPost extends PostKey {
  readonly isStale: boolean;
}

const COMPARE_POSTS = statement<ComparedPost>(
  'search_compare_posts',
  `SELECT p.id, p.created_at AS "createdAt", $3::boolean OR e.post_id IS NULL OR e.version <> p.version AS "isStale"
   FROM (SELECT id, created_at, version FROM posts
     WHERE (created_at, id) < (coalesce($1::timestamptz, 'infinity'), coalesce($2::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
     ORDER BY created_at DESC, id DESC LIMIT $4) AS p
   LEFT JOIN search_entries e ON e.post_id = p.id ORDER BY p.created_at DESC, p.id DESC`,
);
const COMPARE_ENTRIES = statement<{ readonly id: string; readonly isStale: boolean }>(
  'search_compare_entries',
  `SELECT e.post_id AS id, NOT EXISTS (SELECT FROM posts p WHERE p.id = e.post_id) AS "isStale" FROM search_entries e
   WHERE e.post_id > coalesce($1::uuid, '00000000-0000-0000-0000-000000000000') ORDER BY e.post_id LIMIT $2`,
);

/** Reads the next posts, the newest first, and whether their entries are missing or out of date. */
export const comparePosts = (
  db: Queryable,
  { phaseAt, phaseId, rewrites }: IndexPosition,
  limit: number,
): Promise<ComparedPost[]> => db.query(COMPARE_POSTS, [phaseAt, phaseId, rewrites, limit]);

/** Reads the next entries, and whether their posts are missing. */
export const compareEntries = (db: Queryable, { phaseId }: IndexPosition, limit: number) =>
  db.query(COMPARE_ENTRIES, [phaseId, limit]);

interface Entry extends PostText {
  readonly document: SearchDocument;
}

export interface IndexChanges {
  readonly entries?: readonly Entry[];
  readonly removed?: readonly string[];
  readonly position?: Partial<IndexPosition>;
}

const SAVE_POSITION = statement<{ readonly bucket: number | null }>(
  'search_save_position',
  `UPDATE search_position SET revision = revision + 1, generation = $2, event_id = $3, event_checksum = $4, newest_at = $5, newest_id = $6,
     newest_posts = $7, phase = $8, phase_at = $9, phase_id = $10, rewrites = $11
   WHERE id = 1 AND revision = $1 RETURNING (SELECT bucket FROM search_buckets
     WHERE (from_at, from_id) <= ($9::timestamptz, $10::uuid) ORDER BY from_at DESC, from_id DESC LIMIT 1) AS bucket`,
);
const READ_TAGS = statement<{ readonly tags: readonly string[] }>(
  'search_entry_tags',
  'SELECT tags FROM search_entries WHERE post_id = ANY($1::uuid[])',
);
const SAVE_ENTRIES = statement<never>(
  'search_save_entries',
  `INSERT INTO search_entries (post_id, created_at, bucket, version, tags, document)
   SELECT g.id, g.at, b.bucket, g.version, ARRAY(SELECT jsonb_array_elements_text(g.tags::jsonb)),
     replace(g.document, '~', b.bucket || '/')::tsvector
   FROM unnest($1::uuid[], $2::timestamptz[], $3::int[], $4::text[], $5::text[]) AS g(id, at, version, tags, document)
   CROSS JOIN LATERAL (SELECT bucket FROM search_buckets WHERE (from_at, from_id) <= (g.at, g.id)
     ORDER BY from_at DESC, from_id DESC LIMIT 1) AS b
   ON CONFLICT (post_id) DO UPDATE
     SET version = excluded.version, tags = excluded.tags, document = excluded.document`,
);
const REMOVE_ENTRIES = statement<never>(
  'search_remove_entries',
  'DELETE FROM search_entries WHERE post_id = ANY($1::uuid[])',
);
const COUNT_TAGS = statement<never>(
  'search_count_tags',
  `INSERT INTO tag_counts AS t (name, post_count) SELECT * FROM unnest($1::text[], $2::int[])
   ON CONFLICT (name) DO UPDATE SET post_count = t.post_count + excluded.post_count`,
);
const DROP_TAGS = statement<never>(
  'search_drop_tags',
  'DELETE FROM tag_counts WHERE name = ANY($1::text[]) AND post_count <= 0',
);

/** Only one transaction at a time has passed `SAVE_POSITION`, so the counts need no other lock. */
async function countTags(work: UnitOfWork, { entries = [], removed = [] }: IndexChanges): Promise<void> {
  const counts = new Map<string, number>();
  const add = (tags: readonly string[], by: number) => {
    for (const tag of tags) counts.set(tag, (counts.get(tag) ?? 0) + by);
  };
  for (const { tags } of entries) add(tags, 1);
  for (const { tags } of await work.query(READ_TAGS, [[...entries.map(({ id }) => id), ...removed]]))
    add(tags, -1);
  const changed = [...counts].filter(([, count]) => count !== 0);
  if (changed.length === 0) return;
  const names = changed.map(([name]) => name);
  await work.query(COUNT_TAGS, [names, changed.map(([, count]) => count)]);
  await work.query(DROP_TAGS, [names]);
}

const compareKeys = (a: PostKey, b: PostKey): number =>
  a.createdAt.getTime() - b.createdAt.getTime() || (a.id > b.id ? 1 : a.id < b.id ? -1 : 0);

export type Applied = IndexPosition & {
  /** The bucket that the comparison of all posts has reached. */
  readonly bucket: number | null;
};

/**
 * Commits entries together with the position that they lead to. A full bucket is followed by a new one, which begins at
 * the first post above all indexed posts. So no indexed post ever belongs to another bucket.
 * @returns undefined if another instance or a command has changed the position, so that nothing was changed
 * @throws {DatabaseError}
 */
export async function applyChanges(
  database: Database,
  from: IndexPosition,
  changes: IndexChanges,
  bucketPosts: number,
): Promise<Applied | undefined> {
  const { entries = [], removed = [], position } = changes;
  const { newestAt: createdAt, newestId: id } = from;
  const isFresh = (entry: PostKey) =>
    createdAt === null || id === null || compareKeys(entry, { createdAt, id }) > 0;
  const fresh = entries.filter(isFresh).sort(compareKeys);
  const [lowest] = fresh;
  const newest = fresh.at(-1);
  const opens = lowest !== undefined && from.newestPosts >= bucketPosts;
  const to: IndexPosition = {
    ...from,
    ...(newest && { newestAt: newest.createdAt, newestId: newest.id }),
    newestPosts: fresh.length + (opens ? 0 : from.newestPosts),
    ...position,
  };
  return database.unitOfWork().run(async (work) => {
    const [saved] = await work.query(SAVE_POSITION, [
      ...[from.revision, to.generation, to.id, to.checksum],
      ...[to.newestAt, to.newestId, to.newestPosts],
      ...[to.phase, to.phaseAt, to.phaseId, to.rewrites],
    ]);
    if (saved === undefined) return undefined;
    if (entries.length > 0 || removed.length > 0) await countTags(work, changes);
    if (opens) await work.query(OPEN_BUCKETS, [[formatTimestamp(lowest.createdAt)], [lowest.id]]);
    if (removed.length > 0) await work.query(REMOVE_ENTRIES, [removed]);
    if (entries.length > 0)
      await work.query(SAVE_ENTRIES, [
        entries.map(({ id }) => id),
        entries.map(({ createdAt }) => formatTimestamp(createdAt)),
        entries.map(({ version }) => version),
        entries.map(({ tags }) => JSON.stringify(tags)),
        entries.map(({ document }) => document.text),
      ]);
    return { ...to, revision: from.revision + 1, bucket: saved.bucket };
  });
}
