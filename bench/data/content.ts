import type { Client } from 'pg';

/** How much there is to read. */
export interface Size {
  readonly users: number;
  readonly posts: number;
}

/** The newest post is a fixed instant, so that two runs hold the same rows. */
const NEWEST = `'2026-01-01T00:00:00Z'::timestamptz`;
const COMMENTED_EVERY = 5;
const COMMENTS_A_POST = 3;

/** A UUIDv7 (RFC 9562 section 5.7) that a row's time and number determine. */
const uuid = (time: string, seed: string) =>
  `(lpad(to_hex((extract(epoch FROM ${time}) * 1000)::bigint), 12, '0') || '7' || substr(md5(${seed}), 1, 3)
    || '8' || substr(md5(${seed}), 4, 15))::uuid`;

/** Users who joined a minute apart, all before the first post. */
async function loadUsers(client: Client, users: number): Promise<void> {
  const time = `('2010-01-01T00:00:00Z'::timestamptz + i * interval '1 minute')`;
  await client.query(
    `INSERT INTO users (id, name, email, email_key, created_at)
     SELECT ${uuid(time, `'user' || i`)}, 'Reader ' || i, 'reader' || i || '@bench.example', 'reader' || i || '@bench.example', ${time}
     FROM generate_series(1, $1::int) AS i`,
    [users],
  );
}

/**
 * Posts number `from` to `to`, counted from the newest back, a minute apart, written by all users in turn: neighbours
 * in time have different authors. Bodies are about 500 characters long. Every fifth post has three comments.
 */
async function loadPosts(client: Client, from: number, to: number): Promise<void> {
  const time = `(${NEWEST} - i * interval '1 minute')`;
  await client.query(
    `WITH people AS (SELECT array_agg(id ORDER BY created_at, id) AS ids FROM users WHERE email_key LIKE '%@bench.example')
     INSERT INTO posts (id, title, body, author_id, created_at)
     SELECT ${uuid(time, `'post' || i`)}, 'Post ' || i || ' about ' || substr(md5('title' || i), 1, 12),
       repeat(md5('body' || i) || ' ', 15), ids[1 + (i::bigint * 7919) % cardinality(ids)], ${time}
     FROM people, generate_series($1::int, $2::int) AS i`,
    [from, to],
  );
  const commented = `(p.created_at + n * interval '1 second')`;
  // One statement: the triggers that keep comment_count run once.
  await client.query(
    `WITH people AS (SELECT array_agg(id ORDER BY created_at, id) AS ids FROM users WHERE email_key LIKE '%@bench.example')
     INSERT INTO comments (id, body, post_id, author_id, created_at)
     SELECT ${uuid(commented, `p.id::text || n`)}, 'Comment ' || n || ' on ' || p.title, p.id,
       ids[1 + abs(hashtext(p.id::text || n)::bigint) % cardinality(ids)], ${commented}
     FROM people, generate_series(1, ${COMMENTS_A_POST}) AS n,
       (SELECT id, title, created_at FROM (
          SELECT id, title, created_at, (extract(epoch FROM ${NEWEST} - created_at) / 60)::int AS i FROM posts) AS numbered
        WHERE i BETWEEN $1::int AND $2::int AND i % ${COMMENTED_EVERY} = 0) AS p`,
    [from, to],
  );
}

/** What bulk loading leaves behind, and the figures that the planner goes by. */
export async function tidy(client: Client): Promise<void> {
  await client.query(
    'VACUUM (ANALYZE) users, posts, comments, tags, events, idempotency_keys, search_entries',
  );
}

/** Fills an empty database. */
export async function load(client: Client, { users, posts }: Size): Promise<void> {
  await loadUsers(client, users);
  await loadPosts(client, 1, posts);
  // All posts that the bench writes have this slug, and the peers reject one of two concurrent posts with an unused one.
  await client.query(
    `UPDATE posts SET slug = 'a-post-that-the-bench-has-written' WHERE id = (SELECT id FROM posts LIMIT 1)`,
  );
  await tidy(client);
}

/** Takes away what measurements have written, so that the next ones read the same posts as the first. */
export async function removeWritten(client: Client): Promise<void> {
  await client.query(`DELETE FROM posts WHERE created_at > ${NEWEST}`);
  // Without the event at its position, or with a position that moves meanwhile, the search index would be compared with
  // all posts. The statements are one transaction.
  await client.query(
    `UPDATE search_position SET revision = revision + 1;
     DELETE FROM search_entries WHERE created_at > ${NEWEST};
     DELETE FROM events WHERE NOT EXISTS (SELECT FROM search_position WHERE event_id = events.id)`,
  );
  await client.query('TRUNCATE idempotency_keys');
  await tidy(client);
}
