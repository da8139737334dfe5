import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { GraphQLError, GraphQLSchema } from 'graphql';
import { chargedTo, isAuthenticated } from '../../../auth/principal.ts';
import { readConnectionFor } from '../../../auth/secrets.ts';
import { DatabaseError } from '../../../database/errors.ts';
import { withTimeout } from '../../../platform/deadline.ts';
import { ApiError } from '../../../platform/errors.ts';
import type { Metrics } from '../../../platform/metrics/metrics.ts';
import { type RequestFields, readField } from '../../../platform/request-fields.ts';
import { maskError } from '../../core/mask-error.ts';
import type { RequestedOperation } from '../../documents/limits.ts';
import { coercedVariables, variableErrors } from '../../documents/variables.ts';
import type { Execute, OperationPlugin } from '../../operation/lifecycle.ts';
import type { OperationArgs } from '../../operation/operation-context.ts';
import { type RenderedResult, rejected, type SingleResult } from '../../operation/outcome.ts';
import { checkedLength } from '../../operation/response-bounds.ts';
import { type Attempt, type AttemptOptions, createAttempts, type KeyedMutation } from './attempts.ts';
import {
  createStoredBytes,
  findResponse,
  type KeyOwner,
  lockName,
  type StoredResponse,
} from './response-store.ts';

/**
 * Identifies a mutation by document, operation and declared variables (contract: idempotency). Variables are sorted by
 * name as in version 1.0.0, because a retry may cross an upgrade. The digest is keyed with the Idempotency-Key, because
 * a reader of the table could guess a password from a plain digest.
 */
function computeFingerprint(
  schema: GraphQLSchema,
  key: string,
  { operation, variables }: RequestedOperation,
): { readonly requestFingerprint: Buffer } | { readonly errors: readonly GraphQLError[] } {
  const errors = variableErrors(schema, operation.node, variables);
  if (errors.length > 0) return { errors };
  const coerced = Object.entries(coercedVariables(schema, operation.node, variables));
  const sorted = Object.fromEntries(coerced.sort(([a], [b]) => (a < b ? -1 : 1)));
  const text = JSON.stringify([operation.document.normalised, operation.name ?? null, sorted]);
  return { requestFingerprint: createHmac('sha256', key).update(text).digest() };
}

const MAX_LENGTH = 255;

/**
 * Bare and quoted forms of a key are equal (contract: idempotency).
 * @returns undefined if the request has no key
 * @throws {ApiError} BAD_REQUEST for a malformed key or several keys
 */
function readIdempotencyKey(headers: Pick<RequestFields, 'get' | 'has'>): string | undefined {
  if (!headers.has('idempotency-key')) return undefined;
  const value = readField(headers, 'idempotency-key') ?? '';
  const key = value.startsWith('"') ? value.slice(1, -1).replace(/\\(["\\])/g, '$1') : value;
  if (key.length > 0 && key.length <= MAX_LENGTH) return key;
  throw new ApiError(
    'BAD_REQUEST',
    `The Idempotency-Key header must contain one key of 1 to ${MAX_LENGTH} printable ASCII characters. Put a key that contains a comma in quotes.`,
  );
}

/**
 * `stored_statement` and `stored_transaction`: the mutation ran, and its response was stored. `not_stored`: the
 * mutation failed and may run again. `replayed`: the stored response was sent. `waited`: the stored response was sent
 * after a wait for the first request. `reused`: rejected, because the key belongs to another mutation. `in_progress`:
 * rejected, because the first request took too long.
 */
const OUTCOMES = [
  'stored_statement',
  'stored_transaction',
  'not_stored',
  'replayed',
  'waited',
  'reused',
  'in_progress',
] as const;

export function createKeyOutcomes(metrics: Metrics) {
  const counter = metrics.fastCounter(
    'content_graph_idempotency_requests_total',
    `Mutations with an Idempotency-Key: ${OUTCOMES.join(', ')}.`,
    ['outcome'],
  );
  for (const outcome of OUTCOMES) counter.add(outcome, '', 0);
  return {
    add: (outcome: (typeof OUTCOMES)[number]) => counter.add(outcome),
    reused(): ApiError {
      counter.add('reused');
      return new ApiError('IDEMPOTENCY_KEY_REUSED');
    },
    inProgress(): ApiError {
      counter.add('in_progress');
      return new ApiError('IDEMPOTENCY_IN_PROGRESS', undefined, { retryAfterSeconds: 1 });
    },
  };
}

export interface IdempotencyOptions extends Omit<AttemptOptions, 'storedBytes'> {
  /** The budget of an account. */
  readonly maxBytes: number;
  readonly outcomes: ReturnType<typeof createKeyOutcomes>;
}

/** A duplicate waits this long for the first request (contract: idempotency). */
const WAIT_LIMIT_MS = 5_000;
/**
 * One waiter per instance checks at this interval whether another instance has finished, and holds no connection in
 * between.
 */
const POLL_MS = 50;

/**
 * Plugin that runs a mutation with an Idempotency-Key once for each key. The key, the writes and the response commit
 * together, so that a retry after a crash finds all of them or none. A response without data is stored separately; if
 * the process dies before, the mutation counts as not run. Duplicates within a process wait without a connection.
 * Across processes, an advisory lock decides, which is taken before any write.
 */
export function useIdempotency(options: IdempotencyOptions): OperationPlugin {
  const { database, log, retentionMs, maxBytes, maxResponseBytes, replayCheck, outcomes } = options;
  const storedBytes = createStoredBytes({ retentionMs, maxBytes });
  const { attempt, trySingleStatement } = createAttempts({ ...options, storedBytes });
  /** Each promise resolves to the stored response. */
  const running = new Map<string, Promise<StoredResponse | undefined>>();

  /** @throws {ApiError} IDEMPOTENCY_KEY_REUSED; FORBIDDEN if this caller may not receive the response */
  function replay(
    stored: StoredResponse,
    { requestFingerprint, args, requested }: KeyedMutation,
    waited = false,
  ): RenderedResult {
    const { caller, sender, effects } = args.contextValue;
    if (!stored.fingerprint.equals(requestFingerprint)) throw outcomes.reused();
    replayCheck.require(requested, caller, stored);
    const { reservation } = sender;
    reservation.begin(chargedTo(sender));
    reservation.reserve(checkedLength(stored.body, maxResponseBytes));
    outcomes.add(waited ? 'waited' : 'replayed');
    effects.headers['idempotency-replayed'] = 'true';
    return { kind: 'rendered', status: stored.status, body: stored.body, errors: [] };
  }

  const connectionOf = ({ contextValue: { sender } }: OperationArgs) =>
    readConnectionFor(database, chargedTo(sender));

  /** @throws {ApiError} RATE_LIMITED, and the errors of `findResponse` */
  function find(args: OperationArgs, owner: KeyOwner): Promise<StoredResponse | undefined> {
    const { sender } = args.contextValue;
    return findResponse(connectionOf(args), owner, options, (bytes) => {
      sender.reservation.begin(chargedTo(sender));
      sender.reservation.reserve(bytes);
    });
  }

  /** Ignores errors of the database, so that the first error reaches the client. */
  async function storedBefore(args: OperationArgs, owner: KeyOwner): Promise<StoredResponse | undefined> {
    try {
      return await find(args, owner);
    } catch (error) {
      if (error instanceof DatabaseError) return undefined;
      throw error;
    }
  }

  /** Waits for other instances until the deadline. */
  async function runFirst(keyed: KeyedMutation, deadlineMs: number): Promise<Attempt> {
    for (;;) {
      const tried = await attempt(keyed);
      const taken = tried.outcome === undefined && tried.stored === undefined;
      if (!taken || performance.now() + POLL_MS > deadlineMs) return tried;
      await delay(POLL_MS);
    }
  }

  async function runKeyed(keyed: KeyedMutation): Promise<SingleResult> {
    const { owner } = keyed;
    const name = lockName(owner);
    const deadlineMs = performance.now() + WAIT_LIMIT_MS;
    for (let first = running.get(name); first !== undefined; first = running.get(name)) {
      if (!(await withTimeout(deadlineMs - performance.now(), first))) throw outcomes.inProgress();
      const stored = await first;
      if (stored !== undefined) return replay(stored, keyed, true);
    }
    const { promise, resolve } = Promise.withResolvers<StoredResponse | undefined>();
    running.set(name, promise);
    let stored: StoredResponse | undefined;
    try {
      if (await storedBytes.isFull(owner.userId, connectionOf(keyed.args))) {
        stored = await find(keyed.args, owner);
        if (stored === undefined) throw storedBytes.rejection();
        return replay(stored, keyed);
      }
      const alone = await trySingleStatement(keyed);
      if (alone.outcome?.kind === 'rendered') {
        stored = alone.stored;
        storedBytes.stored(owner.userId, alone.outcome.body);
        outcomes.add('stored_statement');
        return alone.outcome;
      }
      // A busy service, a locked table or a lost connection may have rejected the statement before it looked for a
      // stored response.
      const look = alone.outcome === undefined ? find : storedBefore;
      stored = await look(keyed.args, owner);
      if (stored !== undefined) {
        delete keyed.args.contextValue.effects.headers['retry-after'];
        return replay(stored, keyed);
      }
      if (alone.outcome !== undefined) {
        outcomes.add('not_stored');
        return alone.outcome;
      }
      const first = await runFirst(keyed, deadlineMs);
      stored = first.stored;
      if (first.outcome !== undefined) {
        outcomes.add(stored === undefined ? 'not_stored' : 'stored_transaction');
        return first.outcome;
      }
      if (stored === undefined) throw outcomes.inProgress();
      return replay(stored, keyed);
    } finally {
      running.delete(name);
      resolve(stored);
    }
  }

  /** Undefined without a key. Keys belong to accounts, and an anonymous caller cannot change anything. */
  function readKeyed(args: OperationArgs) {
    const { caller, request, operation } = args.contextValue;
    const key = readIdempotencyKey(request.headers);
    if (key === undefined || !isAuthenticated(caller)) return undefined;
    const requested = { operation, variables: args.variableValues ?? {} };
    const owner = { userId: caller.userId, key };
    return { args, caller, owner, requested, ...computeFingerprint(args.schema, key, requested) };
  }

  async function replayStored(args: OperationArgs): Promise<SingleResult | undefined> {
    const { requestId } = args.contextValue;
    try {
      const keyed = readKeyed(args);
      if (keyed === undefined || !('requestFingerprint' in keyed)) return undefined;
      if (!replayCheck.hasAccess(keyed.requested, keyed.caller)) return undefined;
      const stored = await find(args, keyed.owner);
      return stored && replay(stored, keyed);
    } catch (error) {
      return rejected(error, { requestId, log });
    }
  }

  async function runOnce(args: OperationArgs, next: Execute): Promise<SingleResult> {
    const { requestId } = args.contextValue;
    try {
      const keyed = readKeyed(args);
      if (keyed === undefined) return await next(args);
      const { caller, owner, requested } = keyed;
      // A caller without permission neither learns anything from the key nor uses the key up.
      if ('requestFingerprint' in keyed) {
        replayCheck.requireAccess(requested, caller);
        return await runKeyed(keyed);
      }
      // Stored mutations had valid variables, so the key was used for another mutation. Invalid variables are reported
      // before missing permissions, as without a key.
      if (replayCheck.hasAccess(requested, caller) && (await storedBefore(args, owner)) !== undefined)
        throw outcomes.reused();
      const errors = keyed.errors.map((error) => maskError(error, { requestId, log }));
      return { kind: 'rejected', errors };
    } catch (error) {
      return rejected(error, { requestId, log });
    }
  }

  return {
    name: 'idempotency',
    stages: { replay: replayStored, executeMutation: runOnce },
  };
}
