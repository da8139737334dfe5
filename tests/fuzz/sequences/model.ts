import { withKnown } from '../../model/agree.ts';
import { type Executed, executed, mayBeStored } from '../../model/execution.ts';
import { hasRepeatedField } from '../../model/once.ts';
import { holds, lacksAccess, neededFor } from '../../model/permissions.ts';
import { isRejection, matchesExecuted } from '../../model/responses.ts';
import type { Asked } from '../../model/walk.ts';
import { PASSWORD } from '../../support/credentials/session.ts';
import type { RawResponse } from '../../support/keyed.ts';
import { bucketsOf, type Limits, mayHaveTaken, takes } from './limits.ts';
import { isOutage, isUnknown } from './responses.ts';
import { type Credential, callerOf, type State, type Stored, withContent } from './state.ts';

/** A mutation as it is sent. */
export interface Mutation {
  readonly kind: 'mutation';
  /** The texts of its root fields. */
  readonly fields: readonly string[];
  readonly withLast: boolean;
  /** Without a variable. */
  readonly plain: boolean;
  readonly idempotencyKey: string | undefined;
}

export interface Sent {
  readonly instance: number;
  readonly credential: Credential;
  readonly operation: Mutation | { readonly kind: 'query' };
  /** The operation itself. */
  readonly asked: Asked;
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

/** Contract section 6: who may have a stored response. */
function mayHave(state: State, { needs, onlySession }: Stored, caller: Credential): boolean {
  return (
    needs.every((need) => holds(callerOf(state, caller), need)) &&
    (onlySession === undefined || onlySession === caller.id)
  );
}

const execute = (state: State, { credential, asked }: Sent): Executed =>
  executed({ ...asked, caller: callerOf(state, credential), state, password: PASSWORD });

/** The state after a mutation with its response, before anybody knows that, and what it stores under a key. */
function after(state: State, sent: Sent, move: number): { readonly state: State; readonly stored: Stored } {
  const { credential, operation, asked } = sent;
  if (operation.kind === 'query') throw new Error('a query changes nothing');
  const { state: content, data, errors, shown } = execute(state, sent);
  // A response without data contains nothing of what the fields before the failed one returned.
  const revealed = data === null ? [] : [...shown];
  const stored: Stored = {
    fingerprint: fingerprintOf(operation),
    result: { data, errors },
    needs: [...neededFor(asked), ...revealed.filter((need) => need !== 'secret')],
    onlySession: revealed.includes('secret') ? credential.id : undefined,
  };
  const left = withContent(state, content, move);
  const slot = slotOf(sent);
  return { state: slot !== undefined && mayBeStored(errors) ? withStored(left, slot, stored) : left, stored };
}

const withStored = (state: State, slot: string, stored: Stored): State => ({
  ...state,
  stored: { ...state.stored, [slot]: stored },
});

/** The state once what is stored there has been seen. */
function withText(state: State, slot: string | undefined, text: string): State {
  const stored = slot === undefined ? undefined : state.stored[slot];
  return slot === undefined || stored === undefined ? state : withStored(state, slot, { ...stored, text });
}

/** Where the response of a mutation with a key is stored. */
export function slotOf({
  credential,
  operation,
}: Pick<Sent, 'credential' | 'operation'>): string | undefined {
  if (operation.kind === 'query' || operation.idempotencyKey === undefined) return undefined;
  return `${credential.account} ${operation.idempotencyKey}`;
}

/** What is stored under the key of a mutation, if it has one. */
export function storedFor(state: State, sent: Pick<Sent, 'credential' | 'operation'>): Stored | undefined {
  const slot = slotOf(sent);
  return slot === undefined ? undefined : state.stored[slot];
}

/** States in which somebody who was let in is answered so. */
function* responded(state: State, sent: Sent, response: RawResponse, move: number): Generator<State> {
  const { credential, operation, asked } = sent;
  if (operation.kind === 'query') {
    if (matchesExecuted(execute(state, sent), response) !== undefined) yield state;
    return;
  }
  const slot = slotOf(sent);
  if (slot !== undefined && lacksAccess({ caller: callerOf(state, credential) }, asked)) {
    if (isRejection(response, 403, 'FORBIDDEN')) yield state;
    return;
  }
  const stored = storedFor(state, sent);
  if (stored === undefined) {
    if (response.replayed !== null) return;
    if (hasRepeatedField(asked)) {
      if (isRejection(response, 200, 'BAD_USER_INPUT')) yield state;
      return;
    }
    const done = after(state, sent, move);
    const known = matchesExecuted(done.stored.result, response);
    if (known !== undefined) yield withKnown(withText(done.state, slot, response.text), known);
  } else if (stored.fingerprint !== fingerprintOf(operation)) {
    if (isRejection(response, 422, 'IDEMPOTENCY_KEY_REUSED')) yield state;
  } else if (!mayHave(state, stored, credential)) {
    if (isRejection(response, 403, 'FORBIDDEN')) yield state;
  } else if (response.replayed === 'true') {
    const known = matchesExecuted(stored.result, response);
    if (known === undefined || (stored.text !== undefined && stored.text !== response.text)) return;
    yield withKnown(withText(state, slot, response.text), known);
  }
}

/** States that there may be after a request that is answered so. None: the response breaks the contract. */
export function* explain(
  state: State,
  sent: Sent,
  response: RawResponse,
  circumstances: Circumstances,
): Generator<State> {
  const { limits, alone, storm, redisLost, move } = circumstances;
  const remaining = Number(response.headers.get('x-ratelimit-remaining') ?? Number.NaN);
  for (const standing of standings(state, circumstances, sent.credential)) {
    const asked = bucketsOf(limits, sent.instance, standing === 'ended' ? 'failed' : sent.credential);
    for (const taken of takes(state, limits, asked, redisLost)) {
      if (alone && taken.remaining !== undefined && taken.remaining !== remaining) continue;
      if (!taken.allowed) {
        if (isRejection(response, 429, 'RATE_LIMITED')) yield taken.state;
      } else if (standing === 'ended') {
        if (isRejection(response, 401, 'UNAUTHENTICATED')) yield taken.state;
      } else yield* responded(taken.state, sent, response, move);
    }
    if (!storm || !isOutage(response)) continue;
    const nothing = mayHaveTaken(state, limits, asked);
    yield nothing;
    // A stored response is given out, not committed again.
    if (standing !== 'valid' || sent.operation.kind === 'query' || storedFor(state, sent) !== undefined)
      continue;
    if (hasRepeatedField(sent.asked)) continue;
    const done = after(nothing, sent, move);
    // The response of a mutation that failed is stored by itself: 503 does not say whether that was done.
    if (isUnknown(response) || done.stored.result.errors.length > 0) yield done.state;
  }
}
