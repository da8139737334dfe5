import type { Queryable } from '../../database/statement.ts';
import type { Reservation } from '../../platform/fairness/response-memory.ts';
import type { Span } from '../../platform/tracing/tracing.ts';
import type { Cost } from '../documents/cost.ts';
import type { PreparedOperation } from '../documents/prepared-operation.ts';
import type { OperationArgs, OperationContext } from './operation-context.ts';
import type { Outcome, SingleResult } from './outcome.ts';

/** Runs a query or a mutation. Never rejects: errors are in the outcome, masked. */
export type Execute = (args: OperationArgs) => Promise<SingleResult>;
/** Opens a subscription. Rejects with the rejection. */
export type Subscribe = (args: OperationArgs) => Promise<Outcome>;

/** A root field of a mutation that is about to run, or whose stored response is about to be replayed. */
export interface MutationFieldCall extends Pick<OperationContext, 'caller' | 'requestId' | 'sender'> {
  readonly field: string;
  /** The coerced arguments. */
  readonly args: () => Readonly<Record<string, unknown>>;
}

/** How a mutation ended, for each of its root fields. */
export interface MutationFieldEnd {
  /** `unknown`: the connection to the database was lost during the commit. */
  readonly result: 'committed' | 'rolled_back' | 'replayed' | 'unknown';
  /** Of the whole mutation, with waiting and retries. */
  readonly durationMs: number;
}

/** The stages of an operation that plugins take part in, in order. */
export interface OperationStages {
  /** Before validation. Throws the rejection. */
  admit?(operation: PreparedOperation, cost: Cost): void;
  /**
   * Before each root field of a mutation, once, however the mutation runs. Throws or rejects with the error of the field, and
   * no field runs then. The returned function gets the end of the mutation.
   */
  mutationField?(
    call: MutationFieldCall,
  ): Promise<((end: MutationFieldEnd) => void) | undefined> | ((end: MutationFieldEnd) => void) | undefined;
  /** The stored response of a mutation that another plugin rejects; undefined if there is none. Never rejects. */
  replay?(args: OperationArgs): Promise<SingleResult | undefined>;
  /** Around each query and each mutation. Calls `next`. Never rejects. */
  execute?(args: OperationArgs, next: Execute): Promise<SingleResult>;
  /** Runs a mutation in place of `next`, which runs it without its Idempotency-Key. Never rejects. */
  executeMutation?(args: OperationArgs, next: Execute): Promise<SingleResult>;
  /** Around the opening of each subscription. Calls `next`. Rejects with the rejection. */
  subscribe?(args: OperationArgs, next: Subscribe): Promise<Outcome>;
  /** Opens the stream of a subscription. Rejects with the rejection. */
  openStream?(args: OperationArgs): Promise<Outcome>;
}

/** A plugin with stages of operations. */
export interface OperationPlugin {
  readonly name: string;
  readonly stages: OperationStages;
}

/** The stage `admit` of all plugins. */
export function composeAdmit(plugins: readonly OperationPlugin[]): NonNullable<OperationStages['admit']> {
  const checks = plugins.flatMap(({ stages }) => stages.admit ?? []);
  return (operation, cost) => {
    for (const check of checks) check(operation, cost);
  };
}

/**
 * The stage `execute` of all plugins, the first outermost, around the stage `executeMutation`, which is around `last`. The order of
 * the plugins does not decide whether a stage runs.
 */
export function composeExecute(plugins: readonly OperationPlugin[], last: Execute): Execute {
  const run = plugins.reduceRight<Execute>((next, { stages: { executeMutation } }) => {
    if (executeMutation === undefined) return next;
    return (args) =>
      args.contextValue.operation.kind === 'mutation' ? executeMutation(args, next) : next(args);
  }, last);
  return plugins.reduceRight<Execute>((next, { stages: { execute } }) => {
    return execute === undefined ? next : (args) => execute(args, next);
  }, run);
}

/** The stage `subscribe` of all plugins, the first outermost, around the first stage `openStream`, or around `last` without any. */
export function composeSubscribe(plugins: readonly OperationPlugin[], last: Subscribe): Subscribe {
  const open = plugins.find(({ stages }) => stages.openStream !== undefined)?.stages.openStream ?? last;
  return plugins.reduceRight<Subscribe>((next, { stages: { subscribe } }) => {
    return subscribe === undefined ? next : (args) => subscribe(args, next);
  }, open);
}

/** For whom events are read. */
export interface EventReaders {
  /** Who is charged; undefined if several accounts share the work. */
  readonly owner: string | undefined;
  /** Whether all of them have left. */
  readonly gone: boolean;
  /** The delivery that they are read for; undefined if it is not traced. */
  span?: Span | undefined;
}

/** Executes for event streams. */
export interface EventExecutor {
  /**
   * Runs work for event streams: once their line has a place, within the operation timeout and the memory
   * bounds of responses. Rejects with the rejection, or with what `work` throws.
   */
  forEvents<T>(
    readers: EventReaders,
    work: (db: Queryable, reservation: Reservation) => Promise<T>,
  ): Promise<T>;
  /**
   * Executes the selection of a subscription on one event, in its own context: loader caches must not outlive
   * the event. Never throws.
   */
  runEvent(
    args: OperationArgs,
    event: unknown,
    db: Queryable,
    reservation: Reservation,
  ): Promise<SingleResult>;
}
