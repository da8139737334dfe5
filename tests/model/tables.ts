import type { Role } from '../../src/auth/scopes.ts';

/** The rows that the contract's answers are made from. Instants are milliseconds since 1970. */
export interface UserRow {
  readonly id: string;
  readonly name: string;
  readonly handle: string | null;
  readonly bio: string;
  readonly avatarUrl: string | null;
  readonly email: string;
  readonly role: Role;
  readonly createdAt: number;
}

export interface PostRow {
  readonly id: string;
  readonly title: string;
  readonly body: string;
  readonly slug: string;
  readonly authorId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly version: number;
  readonly tags: readonly string[];
}

export interface DraftRow {
  readonly id: string;
  readonly title: string;
  readonly body: string;
  readonly tags: readonly string[];
  readonly slug: string | null;
  readonly authorId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly version: number;
}

/** A slug that a post had, and that no later post had. */
export interface FormerSlugRow {
  readonly slug: string;
  readonly postId: string;
}

export interface CommentRow {
  readonly id: string;
  readonly body: string;
  readonly postId: string;
  readonly authorId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly version: number;
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
  /** Of one that an operation has made. */
  readonly secret?: string;
}

export interface SessionRow {
  readonly id: string;
  readonly userId: string;
  readonly userAgent: string | null;
  readonly createdAt: number;
  readonly lastSeenAt: number;
}

/** A change as it is written down. */
export interface ChangeRow {
  readonly kind: string;
  readonly postId: string;
  readonly commentId: string | null;
  /** The author of the post. */
  readonly authorId: string;
}

/** What the tables hold at one moment. */
export interface Snapshot {
  readonly users: readonly UserRow[];
  readonly posts: readonly PostRow[];
  readonly comments: readonly CommentRow[];
  readonly drafts: readonly DraftRow[];
  readonly formerSlugs: readonly FormerSlugRow[];
  readonly keys: readonly KeyRow[];
  readonly sessions: readonly SessionRow[];
  /** How many comments each post is said to have. */
  readonly counts: readonly { readonly postId: string; readonly count: number }[];
  /** The events, the oldest first. */
  readonly events: readonly ChangeRow[];
}

/** Runs one SQL text and returns its rows. */
export type RunSql = <Row>(
  text: string,
  values: readonly (string | readonly string[] | null)[],
) => Promise<readonly Row[]>;

/** Whose rows are read, and the event after which those begin that are. */
export interface Whose {
  readonly people: readonly string[];
  readonly afterEvent: bigint;
}

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`;
const CHANGED = `${ms('coalesce(updated_at, created_at)')} AS "updatedAt", version`;

/** Reads the tables by SQL of its own: all rows, or those of some people. */
export async function readSnapshot(run: RunSql, whose?: Whose): Promise<Snapshot> {
  const people = whose === undefined ? null : [...whose.people];
  const of = (column: string) => `($1::uuid[] IS NULL OR ${column} = ANY($1::uuid[]))`;
  const theirPost = `(SELECT p.author_id FROM public.posts p WHERE p.id = post_id)`;
  const users = await run<UserRow>(
    `SELECT id::text, name, handle, bio, avatar_url AS "avatarUrl", email, role::text AS role, ${ms('created_at')} AS "createdAt" FROM public.users WHERE ${of('id')}`,
    [people],
  );
  const rows = await run<PostRow & { readonly count: number }>(
    `SELECT id::text, title, body, coalesce(slug, id::text) AS slug, author_id::text AS "authorId", ${ms('created_at')} AS "createdAt",
      ${CHANGED},
      ARRAY(SELECT t.name FROM public.tags t WHERE t.post_id = posts.id ORDER BY t.position) AS tags,
      comment_count AS count FROM public.posts WHERE ${of('author_id')}`,
    [people],
  );
  const comments = await run<CommentRow>(
    `SELECT id::text, body, post_id::text AS "postId", author_id::text AS "authorId",
      ${ms('created_at')} AS "createdAt", ${CHANGED} FROM public.comments WHERE ${of(theirPost)}`,
    [people],
  );
  const formerSlugs = await run<FormerSlugRow>(
    `SELECT slug, post_id::text AS "postId" FROM public.former_slugs WHERE ${of(theirPost)}`,
    [people],
  );
  const drafts = await run<DraftRow>(
    `SELECT id::text, title, body, tags, slug, author_id::text AS "authorId", ${ms('created_at')} AS "createdAt",
      ${CHANGED} FROM public.drafts WHERE ${of('author_id')}`,
    [people],
  );
  const keys = await run<KeyRow>(
    `SELECT id::text, user_id::text AS "userId", name, prefix, scopes, ${ms('created_at')} AS "createdAt",
      ${ms('expires_at')} AS "expiresAt" FROM public.api_keys WHERE revoked_at IS NULL AND ${of('user_id')}`,
    [people],
  );
  const sessions = await run<SessionRow>(
    `SELECT id::text, user_id::text AS "userId", user_agent AS "userAgent", ${ms('created_at')} AS "createdAt",
      ${ms('last_seen_at')} AS "lastSeenAt" FROM public.sessions WHERE ${of('user_id')}`,
    [people],
  );
  const events = await run<ChangeRow>(
    `SELECT kind, root_id::text AS "postId", part_id::text AS "commentId", owner_id::text AS "authorId"
     FROM public.events WHERE id > $1::bigint ORDER BY id`,
    [String(whose?.afterEvent ?? 0)],
  );
  const posts = rows.map(({ count: _, ...post }) => post);
  return {
    users,
    posts,
    comments,
    drafts,
    formerSlugs,
    keys,
    sessions,
    counts: rows.map(({ id, count }) => ({ postId: id, count })),
    events,
  };
}
