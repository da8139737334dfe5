import type {
  ChangeRow,
  CommentRow,
  DraftRow,
  KeyRow,
  PostRow,
  SessionRow,
  Snapshot,
  UserRow,
} from './tables.ts';

/** Begins what stands for a text that only the service can know. No text of the service has NUL in it. */
export const MADE_TEXT = '\0made';

/** Rows made by operations are the newest, in the order in which they are made. */
const FIRST_MADE = 8e15;

/** All that the contract's answers are made from, in plain JSON. Rows and lists are replaced, never changed. */
export interface State {
  users: readonly UserRow[];
  posts: readonly PostRow[];
  comments: readonly CommentRow[];
  drafts: readonly DraftRow[];
  formerSlugs: Snapshot['formerSlugs'];
  /** Those that are not revoked. */
  keys: readonly KeyRow[];
  sessions: readonly SessionRow[];
  /** The posts that were announced, the oldest first. Events outlive their posts. */
  announced: readonly string[];
  /** All that is told, the oldest first. */
  changes: readonly ChangeRow[];
  /** How many texts have been made up. */
  made: number;
}

/** What the tables hold, the oldest first. */
export function stateOf(snapshot: Snapshot): State {
  const { users, posts, comments, drafts, formerSlugs, keys, sessions, events } = snapshot;
  return {
    users: [...users].sort(byAge),
    posts: [...posts].sort(byAge),
    comments: [...comments].sort(byAge),
    drafts: [...drafts].sort(byAge),
    formerSlugs,
    keys: [...keys].sort(byAge),
    sessions,
    announced: events.flatMap(({ kind, postId }) => (kind === 'POST_CREATED' ? [postId] : [])),
    changes: events,
    made: 0,
  };
}

/** A text that only the service can know, unlike all others. */
export function makeText(state: State, what: 'id' | 'secret' | 'slug'): string {
  state.made += 1;
  return `${MADE_TEXT} ${what} ${state.made}`;
}

/** The identity of a new row. */
export function makeRow(state: State): Place {
  const id = makeText(state, 'id');
  return { id, createdAt: FIRST_MADE + state.made };
}

/** What can be changed. */
interface Versioned {
  readonly updatedAt: number;
  readonly version: number;
}

/** The same with its first version. */
export function makeVersioned(state: State): Place & Versioned {
  const place = makeRow(state);
  return { ...place, updatedAt: place.createdAt, version: 1 };
}

/** A row with changes, if they make it another. */
export function changed<Row extends Versioned>(state: State, row: Row, changes: Partial<Row>): Row {
  const next = { ...row, ...changes };
  if (JSON.stringify(next) === JSON.stringify(row)) return row;
  state.made += 1;
  return { ...next, updatedAt: FIRST_MADE + state.made, version: row.version + 1 };
}

export interface Place {
  readonly id: string;
  readonly createdAt: number;
}

/** The order by `createdAt`, then `id`. */
export function byAge(a: Place, b: Place): number {
  if (a.createdAt !== b.createdAt) return a.createdAt - b.createdAt;
  if (a.id === b.id) return 0;
  return a.id < b.id ? -1 : 1;
}

export const isMade = (value: unknown): value is string =>
  typeof value === 'string' && value.startsWith(MADE_TEXT);

export const shownInstant = (instant: number): string =>
  instant >= FIRST_MADE ? MADE_TEXT : new Date(instant).toISOString();

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** The place of a row in the order by the last change, then `id`. */
export const lastChange = ({ id, updatedAt }: Place & Versioned): Place => ({ id, createdAt: updatedAt });

/** The row that an id of a client names. */
export function named<Row extends Place>(rows: readonly Row[], id: string): Row | undefined {
  return UUID.test(id) ? rows.find((row) => row.id === id.toLowerCase()) : undefined;
}
