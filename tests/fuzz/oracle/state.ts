import type { CommentRow, KeyRow, PostRow, SessionRow, Snapshot, UserRow } from '../snapshot.ts';

/** Stands in a result, while it is executed, for what only the service can know. No text of the service has NUL in it. */
export const MADE_TEXT = '\0made';

/** Rows made by the operation itself are the newest, in the order in which they are made. */
const FIRST_MADE = 8e15;

/** The tables as an operation sees them, with what it has done to them so far. */
export class State {
  readonly users: readonly UserRow[];
  readonly keys: KeyRow[];
  readonly sessions: SessionRow[];
  posts: readonly PostRow[];
  comments: readonly CommentRow[];
  #made = 0;

  constructor({ users, posts, comments, keys, sessions }: Snapshot) {
    this.users = [...users].sort(byAge);
    this.posts = [...posts].sort(byAge);
    this.comments = [...comments].sort(byAge);
    this.keys = [...keys].sort(byAge);
    this.sessions = [...sessions];
  }

  /** The identity of a new row. */
  make(): { readonly id: string; readonly createdAt: number } {
    this.#made += 1;
    return { id: `${MADE_TEXT}${this.#made}`, createdAt: FIRST_MADE + this.#made };
  }
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

export const shownId = (id: string): string => (id.startsWith(MADE_TEXT) ? MADE_TEXT : id);

export const shownInstant = (instant: number): string =>
  instant >= FIRST_MADE ? MADE_TEXT : new Date(instant).toISOString();

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** The row that an id of a client names. */
export function named<Row extends Place>(rows: readonly Row[], id: string): Row | undefined {
  return UUID.test(id) ? rows.find((row) => row.id === id.toLowerCase()) : undefined;
}
