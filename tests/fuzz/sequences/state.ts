import type { Role, Scope } from '../../../src/auth/scopes.ts';
import { NOTHING } from './moves.ts';

export interface Person {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
}

export interface Comment {
  readonly id: string;
  readonly author: number;
  readonly body: string;
}

export interface Post {
  readonly author: number;
  title: string;
  tags: readonly string[];
  comments: Comment[];
}

/** A key or a session. One whose secret was never shown cannot be used. */
export interface Credential {
  readonly kind: 'key' | 'session';
  readonly id: string;
  readonly account: number;
  readonly scopes: readonly Scope[];
  readonly secret: string | undefined;
  /** When it was revoked, in elapsed time. */
  endedMs?: number;
}

/** Where execution failed: any of these is right, where the contract does not say which comes first. */
export interface Problem {
  readonly code: string;
  readonly path: readonly (string | number)[];
  readonly argument?: string;
}

/** What execution leads to. Strings that begin with # stand for what only the service can know, the same everywhere. */
export type Result =
  | { readonly data: Readonly<Record<string, unknown>> }
  | { readonly problems: readonly Problem[] };

/** An answer under an Idempotency-Key. */
export interface Stored {
  readonly fingerprint: string;
  readonly result: Result;
  /** What executing the whole document would ask of the caller. */
  readonly scopes: readonly Scope[];
  readonly session: boolean;
  /** The only session that may see it. */
  readonly onlySession: string | undefined;
  /** As it came first; undefined where nobody has seen it yet. */
  text?: string;
}

/** In thousandths of a token. Between the two is what is in it: they differ where only a real clock could tell. */
export interface Bucket {
  readonly low: number;
  readonly high: number;
  readonly taken: number;
}

/** All that the contract lets one know. Plain JSON, so that what might be can be tried on copies. */
export interface State {
  readonly people: readonly Person[];
  readonly posts: Record<string, Post>;
  /** Every post and comment there ever was, the oldest first. */
  readonly postIds: string[];
  readonly commentIds: string[];
  readonly credentials: Credential[];
  /** By account and Idempotency-Key. */
  readonly stored: Record<string, Stored>;
  /** Posts that were announced, with the number of the move that made them. */
  readonly announced: { readonly id: string; readonly move: number }[];
  readonly buckets: Readonly<Record<string, Bucket>>;
  readonly elapsedMs: number;
  /** How many # there have been. */
  unknowns: number;
}

/** An id that names nothing. */
export const NOBODY = '00000000-0000-7000-8000-000000000000';

/** What a reference names: 0 the newest. */
export function named(ids: readonly string[], reference: number): string {
  if (reference === NOTHING) return NOBODY;
  return ids[ids.length - 1 - (reference % ids.length)] ?? NOBODY;
}

export function copyOf(state: State): State {
  return JSON.parse(JSON.stringify(state)) as State;
}

/** The states without those that are the same as another, at most so many. */
export function distinct(states: readonly State[], most: number): readonly State[] {
  if (states.length < 2) return states;
  const found = new Map(states.map((state) => [JSON.stringify(state), state]));
  return [...found.values()].slice(0, most);
}

/** The state with what has become known in the place of its # strings, in values and in names. */
export function withKnown(state: State, known: ReadonlyMap<string, string>): State {
  let text = JSON.stringify(state);
  for (const [unknown, value] of known)
    text = text.replaceAll(JSON.stringify(unknown), JSON.stringify(value));
  return JSON.parse(text) as State;
}

/** A new # string. */
export function unknown(state: State, what: 'id' | 'secret' = 'id'): string {
  state.unknowns += 1;
  return `#${what} ${state.unknowns}`;
}
