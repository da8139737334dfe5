import {
  type ExecutionResult,
  type GraphQLError,
  Kind,
  locatedError,
  type OperationDefinitionNode,
} from 'graphql';
import { answerTooLarge } from '../graphql/errors.ts';
import { type MaskOptions, maskError, publicError } from '../graphql/mask-error.ts';
import type { MediaType } from '../request/media-type.ts';
import type { OperationCost } from '../request/request-state.ts';
import { jsonSize } from './json-size.ts';

/** Executed: its errors, if any, are of fields, and what goes out is made from it. All errors of outcomes are masked. */
export interface Executed {
  readonly kind: 'executed';
  readonly result: ExecutionResult;
}

/** An answer whose text is there already: the database's, or one that is stored and given out as it is. */
export interface Rendered {
  readonly kind: 'rendered';
  readonly status: number;
  readonly body: string;
  /** Those in the text, as far as they are known. */
  readonly errors: readonly GraphQLError[];
}

/** Nothing was executed. */
export interface Refused {
  readonly kind: 'refused';
  readonly errors: readonly GraphQLError[];
}

/** What one event of a subscription comes to. */
export interface StreamEvent {
  /** Where a client goes on from that has had it; undefined where it is of no event. */
  readonly id: string | undefined;
  readonly outcome: Single;
}

/** A subscription that has begun. Ends where it is complete; throws StreamInterruption where its client is to come back. */
interface Streamed {
  readonly kind: 'stream';
  /** The position that it starts from. */
  readonly startId: string | undefined;
  readonly events: AsyncGenerator<StreamEvent, void, undefined>;
}

/** What an operation that is answered once comes to. */
export type Single = Executed | Rendered | Refused;

/** What an operation comes to. */
export type Outcome = Single | Streamed;

/** Ends a stream that is not complete: the service goes down, or something failed. */
export class StreamInterruption extends Error {
  readonly reason: 'shutdown' | 'failure';

  constructor(reason: 'shutdown' | 'failure', cause?: unknown) {
    super(reason === 'shutdown' ? 'the service goes down' : 'an event stream broke off', { cause });
    this.name = 'StreamInterruption';
    this.reason = reason;
  }
}

export function refused(error: unknown, options: MaskOptions): Refused {
  return { kind: 'refused', errors: [maskError(error, options)] };
}

/** A result of graphql-js: without an entry for data nothing was executed. */
export function executed(result: ExecutionResult, options: MaskOptions): Executed | Refused {
  const errors = result.errors?.map((error) => maskError(error, options));
  if (result.data === undefined) return { kind: 'refused', errors: errors ?? [] };
  return { kind: 'executed', result: errors === undefined ? result : { ...result, errors } };
}

/** An error of a whole answer, told of its first root field. */
export function located(error: unknown, { selectionSet }: OperationDefinitionNode): unknown {
  const [field] = selectionSet.selections;
  if (field?.kind !== Kind.FIELD) return error;
  return locatedError(error, field, [field.alias?.value ?? field.name.value]);
}

/** The text of an answer without errors. */
export function rendered(body: string): Rendered {
  return { kind: 'rendered', status: 200, body, errors: [] };
}

export function errorsOf(outcome: Single): readonly GraphQLError[] {
  return outcome.kind === 'executed' ? (outcome.result.errors ?? []) : outcome.errors;
}

/** Whether there is no data in it, so that nothing may have been changed. */
export function hasNoData(outcome: Single): boolean {
  return outcome.kind === 'refused' || (outcome.kind === 'executed' && outcome.result.data == null);
}

/** The errors for which the service is to blame, not the caller. */
export function failuresOf(outcome: Single): readonly GraphQLError[] {
  return errorsOf(outcome).filter((error) => publicError(error).status >= 500);
}

export interface CostCeilings {
  readonly maxDepth: number;
  readonly maxComplexity: number;
}

/** What the request asked to be told of its cost (contract section 5). */
interface ToldCost {
  readonly cost?: OperationCost | undefined;
  readonly limits: CostCeilings;
}

function extensionsWith(
  extensions: ExecutionResult['extensions'],
  { cost, limits }: ToldCost,
): ExecutionResult['extensions'] {
  if (cost === undefined) return extensions;
  const { complexity, depth } = cost;
  const { maxComplexity: maximumComplexity, maxDepth: maximumDepth } = limits;
  return { ...extensions, cost: { complexity, depth, maximumComplexity, maximumDepth } };
}

/** The response as JSON: errors first, as the GraphQL specification suggests (section 7.1). */
export function textOf(outcome: Single, told: ToldCost): string {
  if (outcome.kind === 'rendered') return outcome.body;
  if (outcome.kind === 'refused')
    return JSON.stringify({ errors: outcome.errors, extensions: extensionsWith(undefined, told) });
  const { errors, data, extensions } = outcome.result;
  return JSON.stringify({ errors, data, extensions: extensionsWith(extensions, told) });
}

/** The bytes of a text in UTF-8, or as long as it surely fits, how long it is. Throws COMPLEXITY_LIMIT past `maximum`. */
export function checkedLength(text: string, maximum: number): number {
  // A unit of UTF-16 has three bytes at most.
  const bytes = text.length <= maximum / 3 ? text.length : Buffer.byteLength(text);
  if (bytes > maximum) throw answerTooLarge(bytes, maximum);
  return bytes;
}

/** About how large the text is. Throws COMPLEXITY_LIMIT where that is past `maximum`. */
export function checkedSize(outcome: Single, told: ToldCost, maximum: number): number {
  if (outcome.kind === 'rendered') return checkedLength(outcome.body, maximum);
  const { errors, data, extensions }: ExecutionResult =
    outcome.kind === 'refused' ? { errors: outcome.errors } : outcome.result;
  const bytes = jsonSize({ errors, data, extensions: extensionsWith(extensions, told) }, maximum);
  if (bytes > maximum) throw answerTooLarge(bytes, maximum);
  return bytes;
}

/** The HTTP status of an outcome (contract sections 3 and 4, GraphQL over HTTP section 6.4). */
export function statusOf(outcome: Single, mediaType: MediaType): number {
  if (outcome.kind === 'rendered') return outcome.status;
  const errors = errorsOf(outcome).map(publicError);
  const [first] = errors;
  if (first === undefined) return 200;
  const worst = errors.find(({ status }) => status >= 500);
  if (worst !== undefined) return worst.status;
  if (hasNoData(outcome)) {
    if (errors.every(({ code }) => code === 'FORBIDDEN')) return 403;
    if (errors.every(({ code }) => code === 'UNAUTHENTICATED')) return 401;
  }
  // A `data` entry, even a null one, says that execution began.
  if (outcome.kind === 'executed') return 200;
  if (first.negotiable || first.status === 200) return mediaType === 'application/json' ? 200 : 400;
  return first.status;
}
