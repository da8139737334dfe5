import type { Role, Scope } from '../../../src/auth/scopes.ts';
import type { Executed } from '../../model/execution.ts';
import type { Known } from '../../model/mutations.ts';
import type { Caller } from '../../model/permissions.ts';
import type { State as Content } from '../../model/state.ts';
import type { UserRow } from '../../model/tables.ts';
import { PASSWORD } from '../../support/credentials/session.ts';

export interface Person extends UserRow {
  readonly role: Role;
}

/** A key or a session. One whose secret was never shown cannot be used. */
export interface Credential {
  readonly kind: 'key' | 'session';
  readonly id: string;
  /** The place of its owner among the users. */
  readonly account: number;
  readonly scopes: readonly Scope[];
  readonly secret: string | undefined;
  /** When it was revoked, in elapsed time. */
  readonly endedMs?: number;
}

/** A response under an Idempotency-Key. */
export interface Stored {
  readonly fingerprint: string;
  readonly result: Pick<Executed, 'data' | 'errors'>;
  /** What executing the whole document would ask of the caller. */
  readonly needs: readonly string[];
  /** The only session that may see it. */
  readonly onlySession: string | undefined;
  /** As it came first; undefined where nobody has seen it yet. */
  readonly text?: string;
}

/** In thousandths of a token. Between the two is what is in it: they differ where only a real clock could tell. */
export interface Bucket {
  readonly low: number;
  readonly high: number;
  readonly taken: number;
}

/** All that the contract lets one know. Plain JSON: what might be is tried on copies. */
export interface State extends Content {
  readonly users: readonly Person[];
  /** Every comment there ever was, the oldest first. */
  readonly commentIds: readonly string[];
  /** Those that have ended, too. */
  readonly credentials: readonly Credential[];
  /** By account and Idempotency-Key. */
  readonly stored: Readonly<Record<string, Stored>>;
  /** The number of the move that made each of the posts that were announced. */
  readonly announcedIn: readonly number[];
  readonly buckets: Readonly<Record<string, Bucket>>;
  readonly elapsedMs: number;
}

/** What a mutation can name. */
export function knownIn({ announced, commentIds, drafts, credentials, users }: State): Known {
  const ids = (kind: Credential['kind']) =>
    credentials.filter((one) => one.kind === kind).map(({ id }) => id);
  const credentialIds = { keys: ids('key'), sessions: ids('session') };
  const handle = `h_${users[0]?.id.slice(-12)}`;
  const content = { posts: announced, comments: commentIds, drafts: drafts.map(({ id }) => id) };
  return { ...content, ...credentialIds, password: PASSWORD, handle };
}

export function callerOf({ users }: State, { kind, id, account, scopes }: Credential): Caller {
  const user = users[account];
  if (user === undefined) throw new Error('an account that is not there');
  const sessionId = kind === 'session' ? id : undefined;
  return { userId: user.id, role: user.role, scopes: new Set(scopes), sessionId };
}

/** The state once its content is what a move has left behind. */
export function withContent(state: State, content: Content, move: number): State {
  const live = [...content.keys, ...content.sessions].map(({ id }) => id);
  const before = state.credentials.map(({ id }) => id);
  const made = content.keys
    .filter(({ id }) => !before.includes(id))
    .map(({ id, userId, scopes, secret }) => ({
      kind: 'key' as const,
      id,
      account: state.users.findIndex((user) => user.id === userId),
      scopes: scopes as readonly Scope[],
      secret,
    }));
  const ended = (one: Credential) => one.endedMs === undefined && !live.includes(one.id);
  const comments = content.comments.map(({ id }) => id).filter((id) => !state.commentIds.includes(id));
  return {
    ...state,
    ...content,
    users: state.users.map((user) => ({ ...user, ...content.users.find(({ id }) => id === user.id) })),
    commentIds: [...state.commentIds, ...comments],
    credentials: [
      ...state.credentials.map((one) => (ended(one) ? { ...one, endedMs: state.elapsedMs } : one)),
      ...made,
    ],
    announcedIn: content.announced.map((_, index) => state.announcedIn[index] ?? move),
  };
}

/** The states without those that are the same as another, at most so many. */
export function distinct(states: readonly State[], most: number): readonly State[] {
  if (states.length < 2) return states;
  const found = new Map(states.map((state) => [JSON.stringify(state), state]));
  return [...found.values()].slice(0, most);
}
