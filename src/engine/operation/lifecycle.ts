import type { Queryable } from '../../database/statement.ts';
import type { Reservation } from '../../platform/fairness/response-memory.ts';
import type { Span } from '../../platform/tracing/tracing.ts';
import type { Cost } from '../documents/cost.ts';
import type { PreparedOperation } from '../documents/prepared-operation.ts';
import type { OperationArgs, OperationContext } from './operation-context.ts';
import type { Outcome, SingleResult } from './outcome.ts';

/** Never rejects, because masked errors are in the outcome. */
export type Execute = (args: OperationArgs) => Promise<SingleResult>;
/** Rejects with the reason why the subscription cannot be opened. */
export type Subscribe = (args: OperationArgs) => Promise<Outcome>;

/** A root field of a mutation that is about to run, or whose stored response is about to be replayed. */
export interface MutationFieldCall extends Pick<OperationContext, 'caller' | 'requestId' | 'sender'> {
  readonly field: string;
  /** Returns the coerced arguments. */
  readonly args: () => Readonly<Record<string, unknown>>;
}

export interface MutationFieldEnd {
  /** `unknown` means that the connection to the database was lost during the commit. */
  readonly result: 'committed' | 'rolled_back' | 'replayed' | 'unknown';
  /** Includes waiting and retries. */
  readonly durationMs: number;
}

/** The stages of an operation in which plugins take part, in order. */
export interface OperationStages {
  /** Runs before validation and throws to reject the operation. */
  admit?(operation: PreparedOperation, cost: Cost): void;
  /**
   * Runs once before each root field of a mutation, even if the mutation is retried, replayed or a single statement. An
   * error rejects the mutation, so that none of its fields runs. The returned function gets the result of the mutation.
   */
  mutationField?(
    call: MutationFieldCall,
  ): Promise<((end: MutationFieldEnd) => void) | undefined> | ((end: MutationFieldEnd) => void) | undefined;
  /**
   * Returns the stored response of a mutation that another plugin rejects; undefined if there is none. Never rejects.
   */
  replay?(args: OperationArgs): Promise<SingleResult | undefined>;
  /** Wraps each query and each mutation. Calls `next` and never rejects. */
  execute?(args: OperationArgs, next: Execute): Promise<SingleResult>;
  /** Runs a mutation in place of `next`, which ignores the Idempotency-Key. Never rejects. */
  executeMutation?(args: OperationArgs, next: Execute): Promise<SingleResult>;
  /** Wraps the opening of each subscription. Calls `next`, and rejects if the subscription cannot be opened. */
  subscribe?(args: OperationArgs, next: Subscribe): Promise<Outcome>;
  /** Opens the stream of a subscription, or rejects. */
  openStream?(args: OperationArgs): Promise<Outcome>;
}

export interface OperationPlugin {
  readonly name: string;
  readonly stages: OperationStages;
}

export function composeAdmit(plugins: readonly OperationPlugin[]): NonNullable<OperationStages['admit']> {
  const checks = plugins.flatMap(({ stages }) => stages.admit ?? []);
  return (operation, cost) => {
    for (const check of checks) check(operation, cost);
  };
}

/**
 * Each `execute` wraps later plugins, and all of them wrap `executeMutation`, which wraps `last`. Whether a stage runs
 * does not depend on the order of the plugins.
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

/**
 * Each `subscribe` wraps later plugins. The innermost step is the first `openStream`, or `last` if no plugin has that
 * stage.
 */
export function composeSubscribe(plugins: readonly OperationPlugin[], last: Subscribe): Subscribe {
  const open = plugins.find(({ stages }) => stages.openStream !== undefined)?.stages.openStream ?? last;
  return plugins.reduceRight<Subscribe>((next, { stages: { subscribe } }) => {
    return subscribe === undefined ? next : (args) => subscribe(args, next);
  }, open);
}

/** The subscribers for whom events are read. */
export interface EventReaders {
  /** The account that is charged; undefined if several accounts share the work. */
  readonly owner: string | undefined;
  /** True if all subscribers have disconnected. */
  readonly gone: boolean;
  /** Undefined if the delivery is not traced. */
  span?: Span | undefined;
}

export interface EventExecutor {
  /**
   * Runs work once the queue has a free slot, within the operation timeout and the memory bounds of responses.
   * @throws the reason for the rejection, or the error of `work`
   */
  forEvents<T>(
    readers: EventReaders,
    work: (db: Queryable, reservation: Reservation) => Promise<T>,
  ): Promise<T>;
  /** Each event has a separate context, because loader caches must not outlive the event. Never throws. */
  runEvent(
    args: OperationArgs,
    event: unknown,
    db: Queryable,
    reservation: Reservation,
  ): Promise<SingleResult>;
}
