/** All that the contract's answers are made from, as plain rows. Instants are milliseconds since 1970. */
export interface UserRow {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly createdAt: number;
}

export interface PostRow {
  readonly id: string;
  readonly title: string;
  readonly body: string;
  readonly authorId: string;
  readonly createdAt: number;
  readonly tags: readonly string[];
}

export interface CommentRow {
  readonly id: string;
  readonly body: string;
  readonly postId: string;
  readonly authorId: string;
  readonly createdAt: number;
}

/** A key that is not revoked. */
export interface KeyRow {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  readonly prefix: string;
  readonly scopes: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
}

export interface SessionRow {
  readonly id: string;
  readonly userId: string;
  readonly userAgent: string | null;
  readonly createdAt: number;
  readonly lastSeenAt: number;
}

/** What the tables hold at one moment. */
export interface Snapshot {
  readonly users: readonly UserRow[];
  readonly posts: readonly PostRow[];
  readonly comments: readonly CommentRow[];
  readonly keys: readonly KeyRow[];
  readonly sessions: readonly SessionRow[];
}

/** Runs one SQL text and returns its rows. */
export type RunSql = <Row>(text: string) => Promise<readonly Row[]>;

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`;

/** Reads the tables by SQL of its own. */
export async function readSnapshot(run: RunSql): Promise<Snapshot> {
  const users = await run<UserRow>(
    `SELECT id::text, name, email, ${ms('created_at')} AS "createdAt" FROM users`,
  );
  const posts = await run<PostRow>(
    `SELECT id::text, title, body, author_id::text AS "authorId", ${ms('created_at')} AS "createdAt",
      ARRAY(SELECT t.name FROM tags t WHERE t.post_id = posts.id ORDER BY t.position) AS tags FROM posts`,
  );
  const comments = await run<CommentRow>(
    `SELECT id::text, body, post_id::text AS "postId", author_id::text AS "authorId",
      ${ms('created_at')} AS "createdAt" FROM comments`,
  );
  const keys = await run<KeyRow>(
    `SELECT id::text, user_id::text AS "userId", name, prefix, scopes, ${ms('created_at')} AS "createdAt",
      ${ms('expires_at')} AS "expiresAt" FROM api_keys WHERE revoked_at IS NULL`,
  );
  const sessions = await run<SessionRow>(
    `SELECT id::text, user_id::text AS "userId", user_agent AS "userAgent", ${ms('created_at')} AS "createdAt",
      ${ms('last_seen_at')} AS "lastSeenAt" FROM sessions`,
  );
  return { users, posts, comments, keys, sessions };
}
