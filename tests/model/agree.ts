import { byAge, isMade, type Place, type State } from './state.ts';
import type { CommentRow, DraftRow, PostRow, Snapshot } from './tables.ts';

/** The state with what has become known in the place of what was made up, in values and in names. */
export function withKnown<S extends State>(state: S, known: ReadonlyMap<string, string>): S {
  if (known.size === 0) return state;
  let text = JSON.stringify(state);
  for (const [made, value] of known) text = text.replaceAll(JSON.stringify(made), JSON.stringify(value));
  return JSON.parse(text) as S;
}

/** All of a post but its id and its date. */
const contentOf = ({ id, authorId, title, body, tags, version }: PostRow, comments: readonly CommentRow[]) =>
  JSON.stringify([
    authorId,
    title,
    body,
    tags,
    version,
    comments
      .filter(({ postId }) => postId === id)
      .sort(byAge)
      .map((comment) => [comment.authorId, comment.body, comment.version]),
  ]);

/** Names what nobody was told the id of, by what it holds. */
function recognise<S extends State>(state: S, found: Snapshot): S {
  const known = new Map<string, string>();
  const taken = new Set(
    [...state.posts, ...state.comments, ...state.drafts, ...state.keys].map(({ id }) => id),
  );
  function find<Row extends Place>(id: string, rows: readonly Row[], same: (row: Row) => boolean) {
    const row = [...rows].sort(byAge).find((one) => !taken.has(one.id) && same(one));
    if (row === undefined) return;
    known.set(id, row.id);
    taken.add(row.id);
  }
  for (const post of state.posts.filter(({ id }) => isMade(id))) {
    const content = contentOf(post, state.comments);
    find(post.id, found.posts, (row) => contentOf(row, found.comments) === content);
  }
  for (const { id, postId, authorId, body, version } of state.comments.filter((one) => isMade(one.id)))
    find(
      id,
      found.comments,
      (row) =>
        row.postId === (known.get(postId) ?? postId) &&
        row.authorId === authorId &&
        row.body === body &&
        row.version === version,
    );
  const draftOf = ({ authorId, title, body, tags, slug, version }: DraftRow) =>
    JSON.stringify([authorId, title, body, tags, slug, version]);
  for (const draft of state.drafts.filter((one) => isMade(one.id)))
    find(draft.id, found.drafts, (row) => draftOf(row) === draftOf(draft));
  for (const { id, userId, name, scopes } of state.keys.filter((one) => isMade(one.id)))
    find(
      id,
      found.keys,
      (row) =>
        row.userId === userId && row.name === name && JSON.stringify(row.scopes) === JSON.stringify(scopes),
    );
  for (const { id, slug } of state.posts.filter((post) => isMade(post.slug))) {
    const row = found.posts.find((post) => post.id === (known.get(id) ?? id));
    if (row !== undefined) known.set(slug, row.slug);
  }
  return withKnown(state, known);
}

/** What the tables must hold. */
function snapshotOf(state: State): Snapshot {
  const { announced: _announced, changes, ...rows } = state;
  return {
    ...rows,
    counts: state.posts.map(({ id }) => ({
      postId: id,
      count: state.comments.filter(({ postId }) => postId === id).length,
    })),
    events: changes,
  };
}

/** A line for each row. An event of a post that went at once has an id that nobody knows. */
function linesOf(snapshot: Snapshot, told: ReadonlySet<string>): string[] {
  const { users, posts, comments, drafts, counts, formerSlugs, keys, sessions, events } = snapshot;
  return [
    ...users.map(({ id, name, handle, bio, avatarUrl }) =>
      JSON.stringify(['user', id, name, handle, bio, avatarUrl]),
    ),
    ...posts.map(({ id, authorId, title, body, slug, tags, version }) =>
      JSON.stringify(['post', id, authorId, title, body, slug, tags, version]),
    ),
    ...formerSlugs.map(({ slug, postId }) => JSON.stringify(['former slug', slug, postId])),
    ...comments.map(({ id, postId, authorId, body, version }) =>
      JSON.stringify(['comment', id, postId, authorId, body, version]),
    ),
    ...drafts.map(({ id, authorId, title, body, tags, slug, version }) =>
      JSON.stringify(['draft', id, authorId, title, body, tags, slug, version]),
    ),
    ...counts.map(({ postId, count }) => `${count} comments on ${postId}`),
    ...keys.map(({ id, userId, name, scopes }) => JSON.stringify(['key', id, userId, name, scopes])),
    ...sessions.map(({ id, userId }) => `session ${id} of ${userId}`),
    ...events.map(({ kind, postId, commentId, authorId }) => {
      const seen = (id: string | null) => (id === null || told.has(id) ? id : 'what nobody saw');
      return `${kind} of ${seen(postId)} by ${authorId}, ${seen(commentId)}`;
    }),
  ].sort();
}

/** The state with all ids, where the tables hold just what it says; otherwise where the two differ. */
export function agree<S extends State>(
  state: S,
  found: Snapshot,
): { readonly state: S } | { readonly differs: string } {
  const full = recognise(state, found);
  const ids = full.changes.flatMap(({ postId, commentId }) => [postId, commentId ?? postId]);
  const told = new Set(ids.filter((id) => !isMade(id)));
  const [expected, actual] = [linesOf(snapshotOf(full), told), linesOf(found, told)];
  if (JSON.stringify(expected) === JSON.stringify(actual)) return { state: full };
  const missing = expected.filter((line) => !actual.includes(line));
  const extra = actual.filter((line) => !expected.includes(line));
  return {
    differs: `missing: ${missing.join(' | ') || 'nothing'}; not expected: ${extra.join(' | ') || 'nothing'} (${expected.length} rows and ${actual.length})`,
  };
}
