import { GraphQLError } from 'graphql';
import { isAuthenticated, isSession } from '../../auth/principal.ts';
import { DatabaseError } from '../../database/errors.ts';
import { encodeParameter, type Queryable } from '../../database/statement.ts';
import { ApiError, type ErrorCode } from '../../platform/errors.ts';
import { QueueFullError } from '../../platform/fairness/fair-queue.ts';
import { bytesInMemory } from '../../platform/fairness/memory-budget.ts';
import { newId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/log/log.ts';
import { publicError } from '../core/mask-error.ts';
import type { DocumentCache } from '../documents/document-cache.ts';
import type { OperationHead } from '../documents/operation-request.ts';
import { type EventFilter, type EventRecord, filterKey } from '../events/event.ts';
import { lastEventId } from '../events/last-event-id.ts';
import type { EventExecutor, EventReaders } from '../operation/lifecycle.ts';
import { createEffects, type EventsAfter, type OperationArgs } from '../operation/operation-context.ts';
import {
  type CostCeilings,
  errorsOf,
  rejected,
  type SingleResult,
  serializeResponse,
} from '../operation/outcome.ts';
import { type EventPlan, planEvents, readEvents, subscribedEvents } from '../queries/event-query.ts';
import { readById } from '../queries/loaders.ts';

/** Contains the query string instead of the document, and no request. */
export interface SubscriptionArgs {
  readonly bytes: number;
  /** The document is prepared again, with new plans and an empty request. */
  rebuild(): OperationArgs;
}

/** An open subscription does not read its request. */
const NO_REQUEST: OperationHead = {
  method: 'GET',
  url: 'about:blank',
  headers: { get: () => null, has: () => false, keys: () => [] },
};

/**
 * Retains what executions need while a subscription is open. A document takes a hundred times the memory of its query
 * string, and thousands of subscriptions may be open.
 */
export function createSubscriptionArgs(documents: Pick<DocumentCache, 'parse'>, events: EventsAfter) {
  // A closure retains every object that it names, so `rebuild` must not name the arguments themselves.
  return ({ schema, contextValue, variableValues }: OperationArgs): SubscriptionArgs => {
    const { operation, request: arrived, requestId, origin, caller, sender, added } = contextValue;
    const { db, lookAhead, maxResponseBytes, onPath, trace } = contextValue;
    const { published, shownCost, visibleHeartbeats } = contextValue;
    const asked = { published, shownCost, visibleHeartbeats };
    const retained = { requestId, origin, caller, sender, added, db, lookAhead, maxResponseBytes };
    const outside = { onPath, trace, unitOfWork: undefined, onPasswordChanged: undefined };
    const context = { ...asked, ...retained, ...outside };
    const { name } = operation;
    const { text } = operation.document;
    const lastId = lastEventId(arrived);
    const variables = { ...variableValues };
    return {
      bytes: bytesInMemory(text) + bytesInMemory(variables) + bytesInMemory(lastId),
      rebuild() {
        const prepared = documents.parse(text).operation(name);
        const { plans, document } = prepared;
        const made = { operation: prepared, plans, request: NO_REQUEST, effects: createEffects() };
        const contextValue = { ...context.added, ...context, ...made, events: () => events(lastId) };
        const operationName = name ?? null;
        return { schema, document: document.node, operationName, variableValues: variables, contextValue };
      },
    };
  };
}

export interface EventRenderer {
  /** Subscriptions with equal responses have equal keys. */
  readonly key: string;
  readonly bytes: number;
  /** The maximum number of events to read at a time. */
  readonly atMost: number;
  readonly filter: EventFilter;
  /** Returns undefined for an event whose row was deleted. Rejects with a DatabaseError or the rejection. */
  read(events: readonly EventRecord[], readers: EventReaders): Promise<readonly (string | undefined)[]>;
  /** Returns undefined if the row was deleted. Rejects with a transient error. */
  execute(event: EventRecord, readers: EventReaders): Promise<string | undefined>;
}

class PassingError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode) {
    super(`an event could not be executed: ${code}`);
    this.name = 'PassingError';
    this.code = code;
  }
}

/** An execution may throw these errors if a row is deleted between its statements. */
const MAY_BE_GONE: ReadonlySet<ErrorCode> = new Set(['NOT_FOUND', 'INTERNAL_SERVER_ERROR']);
const MAX_REFRESHES = 3;
/** The database is unavailable, or other responses leave no room. */
const PASSING: ReadonlySet<ErrorCode> = new Set(['SERVICE_UNAVAILABLE', 'TIMEOUT', 'RATE_LIMITED']);

/** True if reading the events again may succeed. */
export function mayPass(code: ErrorCode): boolean {
  return PASSING.has(code);
}

export function toErrorCode(error: unknown): ErrorCode {
  if (error instanceof ApiError || error instanceof PassingError) return error.code;
  if (error instanceof QueueFullError) return 'SERVICE_UNAVAILABLE';
  if (!(error instanceof DatabaseError) || error.kind === 'other') return 'INTERNAL_SERVER_ERROR';
  return error.kind === 'timeout' || error.kind === 'locked' ? 'TIMEOUT' : 'SERVICE_UNAVAILABLE';
}

const MAX_EVENTS = 100;

export interface EventRendererOptions {
  readonly executor: EventExecutor;
  readonly limits: CostCeilings;
  /** Operators turn sharing off to compare. */
  readonly shared: boolean;
  readonly log: Logger;
}

/** Everything on which a response depends if resolvers build it. */
function executionKey({ contextValue, variableValues }: OperationArgs): string {
  const { caller, operation, shownCost } = contextValue;
  const scopes = [...caller.scopes].sort();
  const account = isAuthenticated(caller) ? [caller.userId, caller.role] : [];
  // A session sees which of the account's sessions it is.
  const session = isSession(caller) ? caller.credentialId : undefined;
  const { text } = operation.document;
  return JSON.stringify([
    caller.kind,
    account,
    session,
    scopes,
    text,
    operation.name,
    variableValues,
    shownCost,
  ]);
}

const SUBSCRIPTION_BYTES = 2_048;

const valuesOf = ({ written, given }: EventPlan) => written.values(given);

function planKey(plan: EventPlan): string {
  return JSON.stringify([plan.written.statement.name, valuesOf(plan).map(encodeParameter)]);
}

/** Error locations are removed, because subscribers with other documents share the response. */
function unlocated(outcome: SingleResult): SingleResult {
  if (outcome.kind !== 'executed') return outcome;
  const { errors, ...result } = outcome.result;
  if (errors === undefined) return outcome;
  const shown = errors.map(
    ({ message, path, extensions }) => new GraphQLError(message, { path, extensions }),
  );
  return { kind: 'executed', result: { ...result, errors: shown } };
}

export function createEventRenderers({ executor, limits, shared, log }: EventRendererOptions) {
  let alone = 0;
  const unshared = (isShared = shared) => {
    if (isShared) return '';
    alone += 1;
    return `${alone}`;
  };

  return (args: OperationArgs, subscription: SubscriptionArgs): EventRenderer => {
    // Several subscribers share the errors, so errors get a separate request id.
    const requestId = newId();
    const { contextValue: context } = args;
    const { operation, shownCost: cost, lookAhead, maxResponseBytes } = context;
    const retainedBytes = SUBSCRIPTION_BYTES + subscription.bytes;
    const { mapping, filter } = subscribedEvents(args, operation.node, context);
    // Only an execution reports the cost.
    const plan = lookAhead && cost === undefined ? planEvents(args, operation.node, context) : undefined;

    const isPlanned = plan !== undefined;

    const rootValueOf = (event: EventRecord, db: Queryable): object | Promise<object | undefined> =>
      mapping.shows === 'row' ? readById(db, mapping.entity, event.aggregateId) : mapping.row(event);

    async function execute(event: EventRecord, readers: EventReaders) {
      try {
        return await executor.forEvents(readers, async (db, reservation) => {
          const rebuilt = subscription.rebuild();
          const own = { ...rebuilt, contextValue: { ...rebuilt.contextValue, requestId } };
          for (let left = MAX_REFRESHES; ; left -= 1) {
            const row = await rootValueOf(event, db);
            if (row === undefined) return undefined;
            const outcome = await executor.runEvent(own, row, db, reservation);
            const codes = errorsOf(outcome).map((error) => publicError(error).code);
            // The execution takes several statements, and other transactions may delete rows between the statements.
            if (left > 0 && codes.some((code) => MAY_BE_GONE.has(code))) continue;
            const found = codes.find(mayPass);
            if (found !== undefined) throw new PassingError(found);
            return serializeResponse(isPlanned ? unlocated(outcome) : outcome, { cost, limits });
          }
        });
      } catch (error) {
        if (mayPass(toErrorCode(error))) throw error;
        return serializeResponse(rejected(error, { requestId, log }), { cost, limits });
      }
    }

    if (plan === undefined) {
      // Resolvers may read what plugins have added to this subscriber's context.
      const isShared = shared && context.added === undefined;
      const key = `execution ${unshared(isShared)}${executionKey(args)}${filterKey(filter)}`;
      return {
        key,
        bytes: retainedBytes + bytesInMemory(key),
        atMost: 1,
        filter,
        read: async ([event], readers) => (event === undefined ? [] : [await execute(event, readers)]),
        execute,
      };
    }
    const key = `statement ${unshared()}${planKey(plan)}${filterKey(filter)}`;
    return {
      key,
      bytes: retainedBytes + bytesInMemory([key, plan.written.statement.text, valuesOf(plan)]),
      atMost: Math.min(MAX_EVENTS, Math.max(1, Math.floor(maxResponseBytes / plan.maxBytes))),
      filter,
      read: (events, readers) => executor.forEvents(readers, (db) => readEvents(db, plan, events)),
      execute,
    };
  };
}
