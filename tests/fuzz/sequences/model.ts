import type { Scope } from '../../../src/auth/scopes.ts';
import type { RawAnswer } from '../../support/keyed.ts';
import { bodyOf, isOutage, isRefusal, isUnknown, matchesResult } from './answers.ts';
import { execute } from './execute.ts';
import { needsOf, type WrittenField } from './fields.ts';
import { bucketsOf, type Limits, mayHaveTaken, takes } from './limits.ts';
import { type Credential, copyOf, type Result, type State, type Stored, withKnown } from './state.ts';

/** A mutation as it is sent. */
export interface Mutation {
  readonly kind: 'mutation';
  readonly fields: readonly WrittenField[];
  readonly withLast: boolean;
  /** Without a variable. */
  readonly plain: boolean;
  readonly idempotencyKey: string | undefined;
}

/** A query of one post, or of nothing at all. */
export interface Query {
  readonly kind: 'query';
  readonly post: string | undefined;
}

export interface Sent {
  readonly instance: number;
  readonly credential: Credential;
  readonly operation: Mutation | Query;
}

export interface Circumstances {
  readonly limits: Limits;
  readonly move: number;
  /** The state as the requests went out: whoever was let in then may act for a little longer. */
  readonly before: State;
  /** Whether the request was alone: then the headers say exactly what is left. */
  readonly alone: boolean;
  /** Whether a connection to a server was disturbed meanwhile. */
  readonly storm: boolean;
  /** Whether Redis was out of reach, in this sequence. */
  readonly redisLost: boolean;
}

const REVOKED_WITHIN_MS = 1_000;

/** Contract section 3: a session ends at once, a key within a second. */
function standings(
  state: State,
  { before }: Circumstances,
  { id }: Credential,
): readonly ('valid' | 'ended')[] {
  const find = ({ credentials }: State) => credentials.find((one) => one.id === id);
  const found = find(state);
  if (found?.endedMs === undefined) return ['valid'];
  const lately = found.kind === 'key' && state.elapsedMs - found.endedMs < REVOKED_WITHIN_MS;
  return lately || find(before)?.endedMs === undefined ? ['valid', 'ended'] : ['ended'];
}

function fingerprintOf({ fields, withLast, plain }: Mutation): string {
  return JSON.stringify([fields, withLast, plain]);
}

function neededFor(fields: readonly WrittenField[]): { scopes: Scope[]; session: boolean } {
  const needs = fields.map(needsOf);
  return {
    scopes: [...new Set(needs.flatMap(({ own, selected }) => [...own, ...selected]))],
    session: needs.some(({ session }) => session),
  };
}

/** Contract section 6: who may have a stored answer. */
function mayHave({ scopes, session, onlySession }: Stored, caller: Credential): boolean {
  return (
    scopes.every((scope) => caller.scopes.includes(scope)) &&
    (!session || caller.kind === 'session') &&
    (onlySession === undefined || onlySession === caller.id)
  );
}

/** Contract section 6: what says something about the credentials is not stored. An e-mail is refused for lack of a scope. */
const isRetriable = (result: Result) =>
  'problems' in result &&
  result.problems.some(({ code, path }) => code === 'UNAUTHENTICATED' || path?.at(-1) === 'email');

/** Contract section 6: who may run a mutation with a key at all. */
function mayRun(fields: readonly WrittenField[], caller: Credential): boolean {
  const { scopes, session } = neededFor(fields);
  return scopes.every((scope) => caller.scopes.includes(scope)) && (!session || caller.kind === 'session');
}

/** Executes a mutation on a copy and stores its answer. The answer is that of `result`; the state is before it is known. */
function executed(state: State, { credential, operation }: Sent, move: number): State & { last?: Stored } {
  if (operation.kind === 'query') return copyOf(state);
  const { fields, withLast, idempotencyKey } = operation;
  const { state: done, result, shows } = execute(copyOf(state), credential, fields, withLast, move);
  const after: State & { last?: Stored } = done ?? copyOf(state);
  const { scopes, session } = neededFor(fields);
  const stored: Stored = {
    fingerprint: fingerprintOf(operation),
    result,
    scopes: shows.includes('email') ? [...scopes, 'users:email'] : scopes,
    session,
    onlySession: shows.includes('secret') ? credential.id : undefined,
  };
  if (idempotencyKey !== undefined && !isRetriable(result))
    after.stored[slotOf(credential, idempotencyKey)] = stored;
  after.last = stored;
  return after;
}

export const slotOf = ({ account }: Credential, idempotencyKey: string) => `${account} ${idempotencyKey}`;

function* answeredQuery(state: State, { credential, operation }: Sent, answer: RawAnswer): Generator<State> {
  if (operation.kind !== 'query') return;
  if (operation.post === undefined) {
    if (answer.status === 200 && answer.text === '{"data":{"__typename":"Query"}}') yield state;
    return;
  }
  if (!credential.scopes.includes('posts:read')) {
    // `post` may be null, so that there is data.
    const { data, errors } = bodyOf(answer);
    const codes = errors?.map(({ extensions }) => extensions.code);
    if (answer.status === 200 && JSON.stringify([data, codes]) === '[{"post":null},["FORBIDDEN"]]')
      yield state;
    return;
  }
  const post = state.posts[operation.post];
  const author = state.people[post?.author ?? 0];
  const comments = (post?.comments ?? []).map((comment) => ({
    id: comment.id,
    body: comment.body,
    author: { id: state.people[comment.author]?.id },
  }));
  const expected = post && {
    title: post.title,
    tags: post.tags,
    commentCount: comments.length,
    author: { id: author?.id },
    comments: sorted(comments),
  };
  const { data } = bodyOf(answer) as { data?: { post: { comments: { id: string }[] } | null } };
  const actual = data?.post && { ...data.post, comments: sorted(data.post.comments) };
  if (answer.status === 200 && JSON.stringify(actual) === JSON.stringify(expected ?? null)) yield state;
}

/** Those of one transaction have one date: their order is told by their ids alone, which no model knows beforehand. */
const sorted = <T extends { readonly id: string }>(items: readonly T[]) =>
  [...items].sort((a, b) => (a.id < b.id ? -1 : 1));

/** States in which a mutation from somebody who was let in is answered so. */
function* answeredMutation(state: State, sent: Sent, answer: RawAnswer, move: number): Generator<State> {
  const { credential, operation } = sent;
  if (operation.kind !== 'mutation') return;
  const { idempotencyKey } = operation;
  if (idempotencyKey !== undefined && !mayRun(operation.fields, credential)) {
    if (isRefusal(answer, 403, 'FORBIDDEN')) yield state;
    return;
  }
  const slot = idempotencyKey === undefined ? undefined : slotOf(credential, idempotencyKey);
  const stored = slot === undefined ? undefined : state.stored[slot];
  if (stored === undefined) {
    const after = executed(state, sent, move);
    if (after.last === undefined || answer.replayed !== null) return;
    const known = matchesResult(after.last.result, answer);
    if (known === undefined) return;
    const { last: _, ...plain } = after;
    const kept = slot === undefined ? undefined : plain.stored[slot];
    if (kept !== undefined) kept.text = answer.text;
    yield withKnown(plain, known);
    return;
  }
  if (stored.fingerprint !== fingerprintOf(operation)) {
    if (isRefusal(answer, 422, 'IDEMPOTENCY_KEY_REUSED')) yield state;
  } else if (!mayHave(stored, credential)) {
    if (isRefusal(answer, 403, 'FORBIDDEN')) yield state;
  } else if (answer.replayed === 'true') {
    const known = matchesResult(stored.result, answer);
    if (known === undefined || (stored.text !== undefined && stored.text !== answer.text)) return;
    const after = copyOf(state);
    const kept = slot === undefined ? undefined : after.stored[slot];
    if (kept !== undefined) kept.text = answer.text;
    yield withKnown(after, known);
  }
}

/** States that there may be after a request that is answered so. None: the answer breaks the contract. */
export function* explain(
  state: State,
  sent: Sent,
  answer: RawAnswer,
  circumstances: Circumstances,
): Generator<State> {
  const { limits, alone, storm, redisLost, move } = circumstances;
  const remaining = Number(answer.headers.get('x-ratelimit-remaining') ?? Number.NaN);
  for (const standing of standings(state, circumstances, sent.credential)) {
    const asked = bucketsOf(limits, sent.instance, standing === 'ended' ? 'failed' : sent.credential);
    for (const taken of takes(state, limits, asked, redisLost)) {
      if (alone && taken.remaining !== undefined && taken.remaining !== remaining) continue;
      if (!taken.allowed) {
        if (isRefusal(answer, 429, 'RATE_LIMITED')) yield taken.state;
      } else if (standing === 'ended') {
        if (isRefusal(answer, 401, 'UNAUTHENTICATED')) yield taken.state;
      } else if (sent.operation.kind === 'query') yield* answeredQuery(taken.state, sent, answer);
      else yield* answeredMutation(taken.state, sent, answer, move);
    }
    if (!storm || !isOutage(answer)) continue;
    const nothing = mayHaveTaken(state, limits, asked);
    yield nothing;
    // A stored answer is given out, not committed again.
    if (standing !== 'valid' || storedFor(state, sent) !== undefined) continue;
    const { last, ...done } = executed(nothing, sent, move);
    // The answer of a mutation that failed is stored by itself: 503 does not say whether that was done.
    if (isUnknown(answer) || (last !== undefined && 'problems' in last.result)) yield done;
  }
}

/** What is stored under the key of a mutation, if it has one. */
function storedFor(state: State, { credential, operation }: Sent): Stored | undefined {
  if (operation.kind === 'query' || operation.idempotencyKey === undefined) return undefined;
  return state.stored[slotOf(credential, operation.idempotencyKey)];
}
