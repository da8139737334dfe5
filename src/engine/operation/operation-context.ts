import type { ExecutionArgs } from 'graphql';
import type { Caller } from '../../auth/principal.ts';
import type { Scope } from '../../auth/scopes.ts';
import type { Queryable } from '../../database/statement.ts';
import type { FastCounter } from '../../platform/metrics/instruments.ts';
import type { Preparations } from '../core/before-transaction.ts';
import type { Context, EventReader, ExecutionPath } from '../core/context.ts';
import type { OperationHead, OperationRequest } from '../documents/operation-request.ts';
import type { ValidatedOperation } from '../documents/operation-stages.ts';
import type { PreparedOperation } from '../documents/prepared-operation.ts';
import { lastEventId } from '../events/last-event-id.ts';

/** Only the stages of the execution write to this object. */
export interface OperationEffects {
  /** Keyed by lower-case name. */
  readonly headers: Record<string, string>;
  /**
   * The position from which events report changes that the response does not show. Undefined unless the client asks for
   * the event id.
   */
  eventId: string | undefined;
}

export const createEffects = (): OperationEffects => ({ headers: {}, eventId: undefined });

export type ExecutedOperation = Pick<
  ValidatedOperation,
  'operation' | 'published' | 'shownCost' | 'showsEventId' | 'visibleHeartbeats'
>;

/** The executor changes members in place, because plugins identify an operation by its context object. */
export interface OperationContext
  extends Context,
    Pick<ExecutedOperation, 'published' | 'shownCost' | 'visibleHeartbeats'> {
  caller: Caller;
  db: Queryable;
  prepared?: Preparations;
  notedScopes?: Set<Scope>;
  /** Members that plugins of Yoga have added, for the events of a subscription. */
  readonly added?: object | undefined;
  readonly request: OperationHead;
  readonly sender: OperationRequest;
  readonly operation: PreparedOperation;
  readonly effects: OperationEffects;
}

export interface OperationArgs extends ExecutionArgs {
  readonly contextValue: OperationContext;
}

/** Opens the events after an id or, without an id, from now on. */
export type EventsAfter = (lastId: string | undefined) => Promise<EventReader>;

export type ContextOf = (
  executed: ExecutedOperation,
  request: OperationHead,
  sender: OperationRequest,
) => OperationContext;

export interface ContextOptions extends Pick<Context, 'origin' | 'db' | 'lookAhead' | 'maxResponseBytes'> {
  readonly paths: FastCounter;
  /** True if the paths of each operation are recorded for the debug log. */
  readonly traced: boolean;
  readonly eventsAfter: EventsAfter;
  /** @throws {DatabaseError} */
  readonly idOfSnapshot: (name: string | null) => Promise<string>;
}

export function contextOf(options: ContextOptions): ContextOf {
  const { origin, db, lookAhead, maxResponseBytes, paths, traced, eventsAfter, idOfSnapshot } = options;
  const onPath = (path: ExecutionPath) => paths.add(path);
  // A closure in the context would retain the request as long as a stream is open.
  const onTracedPath = (taken: Set<ExecutionPath>) => (path: ExecutionPath) => {
    paths.add(path);
    taken.add(path);
  };
  return ({ operation, published, shownCost, showsEventId, visibleHeartbeats }, request, sender) => {
    const effects = createEffects();
    const trace = traced ? { paths: new Set<ExecutionPath>() } : undefined;
    return {
      request,
      sender,
      operation,
      published,
      shownCost,
      visibleHeartbeats,
      effects,
      requestId: sender.requestId,
      origin,
      // Authentication has run.
      caller: sender.caller as Caller,
      unverifiedSession: sender.unverifiedSession,
      db,
      plans: operation.plans,
      lookAhead,
      maxResponseBytes,
      onSnapshot: showsEventId
        ? async (name) => {
            effects.eventId = await idOfSnapshot(name);
          }
        : undefined,
      onPath: trace === undefined ? onPath : onTracedPath(trace.paths),
      trace,
      unitOfWork: undefined,
      onPasswordChanged: undefined,
      events: () => eventsAfter(lastEventId(request)),
    };
  };
}
