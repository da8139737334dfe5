import {
  type ExecutionResult,
  type GraphQLError,
  Kind,
  locatedError,
  type OperationDefinitionNode,
} from 'graphql';
import { type MaskOptions, maskError, publicError } from '../graphql/mask-error.ts';
import type { Config } from '../platform/config.ts';
import type { EventStream } from '../request/event-stream.ts';
import type { OperationCost } from '../request/request-state.ts';

/**
 * Executed: errors, if any, belong to fields, and the response is made from `result`. All errors of outcomes
 * are masked.
 */
export interface Executed {
  readonly kind: 'executed';
  readonly result: ExecutionResult;
}

/** A response that is already text: built by the database, or stored and replayed unchanged. */
export interface Rendered {
  readonly kind: 'rendered';
  readonly status: number;
  readonly body: string;
  /** The errors in the text, as far as they are known. */
  readonly errors: readonly GraphQLError[];
}

/** Nothing was executed. */
export interface Refused {
  readonly kind: 'refused';
  readonly errors: readonly GraphQLError[];
}

/** A started subscription. */
interface Streamed {
  readonly kind: 'stream';
  readonly stream: EventStream;
}

/** A subscription that cannot go on where the client left off. It gets this error and the current position. */
interface Unresumable {
  readonly kind: 'unresumable';
  readonly startId: string;
  readonly outcome: Refused;
}

/** The outcome of an operation with a single response. */
export type Single = Executed | Rendered | Refused;

/** The outcome of any operation. */
export type Outcome = Single | Streamed | Unresumable;

export function refused(error: unknown, options: MaskOptions): Refused {
  return { kind: 'refused', errors: [maskError(error, options)] };
}

/** Converts a result of graphql-js. Without a `data` entry nothing was executed. */
export function executed(result: ExecutionResult, options: MaskOptions): Executed | Refused {
  const errors = result.errors?.map((error) => maskError(error, options));
  if (result.data === undefined) return { kind: 'refused', errors: errors ?? [] };
  return { kind: 'executed', result: errors === undefined ? result : { ...result, errors } };
}

/** Attributes an error of the whole response to its first root field. */
export function located(error: unknown, { selectionSet }: OperationDefinitionNode): unknown {
  const [field] = selectionSet.selections;
  if (field?.kind !== Kind.FIELD) return error;
  return locatedError(error, field, [field.alias?.value ?? field.name.value]);
}

/** A response text without errors. */
export function rendered(body: string): Rendered {
  return { kind: 'rendered', status: 200, body, errors: [] };
}

export function errorsOf(outcome: Single): readonly GraphQLError[] {
  return outcome.kind === 'executed' ? (outcome.result.errors ?? []) : outcome.errors;
}

/** Whether the outcome has no data, which requires that nothing was changed. */
export function hasNoData(outcome: Single): boolean {
  return outcome.kind === 'refused' || (outcome.kind === 'executed' && outcome.result.data == null);
}

/** Errors caused by the service, not by the caller. */
export function failuresOf(outcome: Single): readonly GraphQLError[] {
  return errorsOf(outcome).filter((error) => publicError(error).status >= 500);
}

/** Whether some error says something about the moment or the credentials, and not about the operation. */
export function isRetriable(outcome: Single): boolean {
  return errorsOf(outcome).some((error) => publicError(error).retriable);
}

export type CostCeilings = Pick<Config['operationLimits'], 'maxDepth' | 'maxComplexity'>;

/** The cost to report, if the request asked for it (contract section 5). */
export interface ToldCost {
  readonly cost?: OperationCost | undefined;
  readonly limits: CostCeilings;
  /** The id from which events bring what the response does not show, if the request asked for it. */
  readonly eventId?: string | undefined;
}

export function extensionsWith(
  extensions: ExecutionResult['extensions'],
  { cost, limits, eventId }: ToldCost,
): ExecutionResult['extensions'] {
  const known = eventId === undefined ? extensions : { ...extensions, eventId };
  if (cost === undefined) return known;
  const { complexity, depth } = cost;
  const { maxComplexity: maximumComplexity, maxDepth: maximumDepth } = limits;
  return { ...known, cost: { complexity, depth, maximumComplexity, maximumDepth } };
}

/** A text that has no extensions, with the id in them. Ids need no escaping. */
const withEventId = (body: string, eventId: string | undefined): string =>
  eventId === undefined ? body : `${body.slice(0, -1)},"extensions":{"eventId":"${eventId}"}}`;

/** The response as JSON: errors first, as the GraphQL specification suggests (section 7.1). */
export function textOf(outcome: Single, told: ToldCost): string {
  if (outcome.kind === 'rendered') return withEventId(outcome.body, told.eventId);
  if (outcome.kind === 'refused')
    return JSON.stringify({ errors: outcome.errors, extensions: extensionsWith(undefined, told) });
  const { errors, data, extensions } = outcome.result;
  return JSON.stringify({ errors, data, extensions: extensionsWith(extensions, told) });
}
