import { execute } from 'graphql';
import { chargedTo } from '../auth/principal.ts';
import { type CancellableWork, Cancellation } from '../database/cancellation.ts';
import { createDeadline, within } from '../platform/deadline.ts';
import { ApiError } from '../platform/errors.ts';
import { eventLoop } from '../platform/fairness/event-loop.ts';
import type { FairQueue } from '../platform/fairness/fair-queue.ts';
import type { Reservation } from '../platform/fairness/response-memory.ts';
import type { Metrics } from '../platform/metrics/metrics.ts';
import { afterSnapshot, verifyCaller } from './core/context.ts';
import { createMutationExecutor, type MutationOptions } from './mutations/mutation-executor.ts';
import { createSingleStatementExecutor, type KeyedExecutor } from './mutations/single-statement-executor.ts';
import { createIntrospectionCache } from './operation/introspection.ts';
import type { EventExecutor } from './operation/lifecycle.ts';
import type { OperationArgs, OperationContext } from './operation/operation-context.ts';
import { executed, located, rejected, rendered, type SingleResult } from './operation/outcome.ts';
import { type LeftPart, renderInDatabase } from './queries/execute-in-database.ts';

const tooSlow = (timeoutMs: number): ApiError =>
  new ApiError(
    'TIMEOUT',
    `The operation took longer than ${timeoutMs} ms and was cancelled. Request less, or try again later.`,
  );

/** Rejects with TIMEOUT if work before an operation takes longer than `timeoutMs`. */
export function limitTime(timeoutMs: number): <T>(work: Promise<T>) => Promise<T> {
  const deadline = createDeadline(timeoutMs);
  return (work) => within(deadline, work, () => tooSlow(timeoutMs));
}

/** The owner of the response memory of events that accounts share. */
const SHARED = 'events';

export interface ExecutorOptions extends MutationOptions {
  /** Events have a separate queue, because a thousand subscribers must not delay a query. */
  readonly eventQueue: FairQueue;
  readonly timeoutMs: number;
}

interface Written {
  readonly data: Readonly<Record<string, unknown>>;
}

function completed({ data: written }: Written, { names }: LeftPart, executed: SingleResult): SingleResult {
  if (executed.kind !== 'executed' || executed.result.data == null) return executed;
  const { result } = executed;
  const made = result.data ?? {};
  const data = Object.fromEntries(
    names.map((name) => [name, Object.hasOwn(made, name) ? made[name] : written[name]]),
  );
  return { kind: 'executed', result: { ...result, data } };
}

/** The methods never throw, because masked errors are in the outcome. */
export interface Executor extends EventExecutor, KeyedExecutor {
  /** Runs a query on the pool, or a mutation in one unit of work that commits before the response. */
  run(args: OperationArgs): Promise<SingleResult>;
}

/**
 * Limits concurrency and duration of operations. After its timeout, the statements of an operation are cancelled and
 * its writes are rolled back.
 */
export function createExecutor(options: ExecutorOptions): Executor {
  const { database, log, queue, eventQueue, timeoutMs, bounds } = options;
  const executeMutation = createMutationExecutor(options);
  const executeSingleStatement = createSingleStatementExecutor(options);
  const introspection = createIntrospectionCache();
  const deadline = createDeadline(timeoutMs);
  const masking = ({ requestId }: OperationContext) => ({ requestId, log });

  /** @returns undefined if the database can write no part of the response */
  async function executeInDatabase(
    args: OperationArgs,
    reservation: Reservation,
  ): Promise<SingleResult | undefined> {
    const { contextValue: context } = args;
    const { node } = context.operation;
    try {
      const rendering = await renderInDatabase(args, node, context);
      if (rendering === undefined) return undefined;
      const { response, left } = rendering;
      if (left === undefined && context.shownCost === undefined)
        return bounds.checked(rendered(response), context, reservation);
      // The cost is added to the data when the response is serialized, so this response cannot stay a string.
      const written: Written = JSON.parse(response);
      const outcome =
        left === undefined
          ? ({ kind: 'executed', result: written } as const)
          : completed(written, left, await executeFields({ ...args, document: left.document }, reservation));
      return bounds.checked(outcome, context, reservation);
    } catch (error) {
      // A rejection belongs to no field, so it has no location.
      const rejection = reservation.rejection ?? (error instanceof ApiError ? error : undefined);
      return rejected(rejection ?? located(error, node), masking(context));
    }
  }

  async function executeFields(args: OperationArgs, reservation: Reservation): Promise<SingleResult> {
    const { contextValue: context } = args;
    try {
      const run = async () => {
        bounds.checkIntrospection(args);
        return executed(await execute(args), masking(context));
      };
      const outcome = context.operation.mayIntrospect ? await introspection.respond(args, run) : await run();
      return bounds.checked(outcome, context, reservation);
    } catch (error) {
      return rejected(error, masking(context));
    }
  }

  async function executeQuery(
    args: OperationArgs,
    cancellation: Cancellation,
    reservation: Reservation,
  ): Promise<SingleResult> {
    const { contextValue } = args;
    contextValue.db = database.cancellable(cancellation);
    const written = contextValue.lookAhead ? await executeInDatabase(args, reservation) : undefined;
    if (written !== undefined) return written;
    await verifyCaller(contextValue);
    contextValue.db = afterSnapshot(contextValue);
    return executeFields(args, reservation);
  }

  /**
   * Work that still runs at the timeout continues until it notices the cancellation; its result is discarded.
   * @param toResult turns a rejection into a result, or throws
   * @param forWork collects the time of the statements
   */
  function inTime<T, R>(
    owner: string | undefined,
    reservation: Reservation,
    run: (cancellation: Cancellation) => Promise<T>,
    toResult: (error: unknown) => R,
    forWork?: CancellableWork,
  ): Promise<T | R> {
    const cancellation = new Cancellation(reservation, owner, forWork);
    return new Promise<T | R>((resolve, reject) => {
      // Runs again when the work notices its timeout. At that time no error may escape the promise.
      const fail = (error: unknown) => {
        try {
          resolve(toResult(error));
        } catch (rejection) {
          reject(rejection);
        }
      };
      try {
        reservation.begin(owner ?? SHARED);
      } catch (error) {
        fail(error);
        return;
      }
      const done = deadline.set(() => {
        if (!cancellation.cancel() || cancellation.undecided) return;
        reservation.abandon();
        fail(tooSlow(timeoutMs));
      });
      run(cancellation).then(
        (result) => {
          done();
          if (reservation.rejection === undefined) resolve(result);
          else fail(reservation.rejection);
        },
        (error: unknown) => {
          done();
          fail(error);
        },
      );
    });
  }

  function bounded<T extends SingleResult | undefined>(
    context: OperationContext,
    run: (cancellation: Cancellation) => Promise<T>,
  ): Promise<T | SingleResult> {
    const { sender } = context;
    return inTime(
      chargedTo(sender),
      sender.reservation,
      run,
      (error): SingleResult => rejected(error, masking(context)),
      sender.work,
    );
  }

  /** A mutation without extra steps always has an outcome. */
  const mutate = async (args: OperationArgs, cancellation: Cancellation): Promise<SingleResult> =>
    (await executeSingleStatement(args, cancellation)) ??
    (await executeMutation(args, cancellation)) ?? { kind: 'rejected', errors: [] };

  return {
    async run(args) {
      const { contextValue: context } = args;
      if (context.operation.kind === 'mutation')
        return bounded(context, (cancellation) => mutate(args, cancellation));
      const { reservation } = context.sender;
      return bounded(context, (cancellation) =>
        queue.run(cancellation.owner, () => executeQuery(args, cancellation, reservation), cancellation),
      );
    },
    runMutation: (args, steps) =>
      bounded(args.contextValue, (cancellation) => executeMutation(args, cancellation, steps)),
    runSingleStatement: (args, keyLock) =>
      bounded(args.contextValue, (cancellation) => executeSingleStatement(args, cancellation, keyLock)),
    forEvents: (readers, work) => {
      const { owner } = readers;
      const read = async () => {
        const sinceMs = performance.now();
        const reservation = bounds.reservation();
        try {
          eventLoop.charge(owner);
          if (readers.gone)
            throw new ApiError('SERVICE_UNAVAILABLE', 'All subscribers of these events have disconnected.');
          return await inTime(
            owner,
            reservation,
            (cancellation) =>
              work(database.cancellable(cancellation, { takesTimeSlice: false }), reservation),
            (error): never => {
              throw reservation.rejection ?? error;
            },
            { databaseMs: 0, span: readers.span },
          );
        } finally {
          reservation.release();
          eventQueue.use.add(owner, performance.now() - sinceMs);
        }
      };
      // Long queues neither reject nor delay events, because the timeout of an event starts once the event has a slot.
      // While the event loop is busy, the event keeps its slot, so that fewer events are read.
      return eventQueue.run(owner, async () => {
        const result = await read();
        const waiting = eventLoop.enter(owner);
        if (waiting !== undefined) await waiting;
        return result;
      });
    },
    async runEvent(args, event, db, reservation) {
      return executeFields(
        { ...args, contextValue: { ...args.contextValue, db }, rootValue: event },
        reservation,
      );
    },
  };
}

interface OperationQueues {
  readonly queue: FairQueue;
  readonly writeQueue: FairQueue;
  readonly eventQueue: FairQueue;
}

export function registerOperationMetrics(
  metrics: Metrics,
  { queue, writeQueue, eventQueue }: OperationQueues,
): void {
  metrics.gauge('content_graph_graphql_operations_running', 'Running operations.', () => queue.activeCount);
  metrics.gauge(
    'content_graph_graphql_operations_waiting',
    'Operations waiting for a slot.',
    () => queue.waitingCount,
  );
  metrics.gauge(
    'content_graph_graphql_transactions_running',
    'Running mutation transactions.',
    () => writeQueue.activeCount,
  );
  metrics.gauge(
    'content_graph_graphql_transactions_waiting',
    'Mutations waiting for a transaction slot.',
    () => writeQueue.waitingCount,
  );
  metrics.gauge(
    'content_graph_event_executions_running',
    'Running reads and executions of events.',
    () => eventQueue.activeCount,
  );
  metrics.gauge(
    'content_graph_event_executions_waiting',
    'Reads and executions of events waiting for a slot.',
    () => eventQueue.waitingCount,
  );
  metrics.gauge(
    'content_graph_event_loop_tasks_waiting',
    'Requests and results waiting for a time slice of the event loop.',
    () => eventLoop.queue.waitingCount,
  );
}
