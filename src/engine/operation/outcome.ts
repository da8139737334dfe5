import {
  type ExecutionResult,
  type GraphQLError,
  Kind,
  locatedError,
  type OperationDefinitionNode,
} from 'graphql';
import type { Config } from '../../platform/config/config.ts';
import type { ErrorCode } from '../../platform/errors.ts';
import { type MaskOptions, maskError, publicError } from '../core/mask-error.ts';
import type { DeprecatedElement } from '../documents/deprecations.ts';
import type { MediaType, OperationCost } from '../documents/operation-request.ts';
import type { EventStream } from '../events/event-stream.ts';

/**
 * Executed: errors, if any, belong to fields, and the response is made from `result`. All errors of outcomes
 * are masked.
 */
export interface Executed {
  readonly kind: 'executed';
  readonly result: ExecutionResult;
}

/** A response that is already text: built by the database, or stored and replayed unchanged. */
export interface RenderedResult {
  readonly kind: 'rendered';
  readonly status: number;
  readonly body: string;
  /** The errors in the text, as far as they are known. */
  readonly errors: readonly GraphQLError[];
}

/** Nothing was executed. */
export interface Rejected {
  readonly kind: 'rejected';
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
  readonly outcome: Rejected;
}

/** The outcome of an operation with a single response. */
export type SingleResult = Executed | RenderedResult | Rejected;

/** The outcome of any operation. */
export type Outcome = SingleResult | Streamed | Unresumable;

export function rejected(error: unknown, options: MaskOptions): Rejected {
  return { kind: 'rejected', errors: [maskError(error, options)] };
}

/** Converts a result of graphql-js. Without a `data` entry nothing was executed. */
export function executed(result: ExecutionResult, options: MaskOptions): Executed | Rejected {
  const errors = result.errors?.map((error) => maskError(error, options));
  if (result.data === undefined) return { kind: 'rejected', errors: errors ?? [] };
  return { kind: 'executed', result: errors === undefined ? result : { ...result, errors } };
}

/** Attributes an error of the whole response to its first root field. */
export function located(error: unknown, { selectionSet }: OperationDefinitionNode): unknown {
  const [field] = selectionSet.selections;
  if (field?.kind !== Kind.FIELD) return error;
  return locatedError(error, field, [field.alias?.value ?? field.name.value]);
}

/** A response text without errors. */
export function rendered(body: string): RenderedResult {
  return { kind: 'rendered', status: 200, body, errors: [] };
}

export function errorsOf(outcome: SingleResult): readonly GraphQLError[] {
  return outcome.kind === 'executed' ? (outcome.result.errors ?? []) : outcome.errors;
}

/** Whether the outcome has no data, which requires that nothing was changed. */
export function hasNoData(outcome: SingleResult): boolean {
  return outcome.kind === 'rejected' || (outcome.kind === 'executed' && outcome.result.data == null);
}

/** Errors caused by the service, not by the caller. */
export function failuresOf(outcome: SingleResult): readonly GraphQLError[] {
  return errorsOf(outcome).filter((error) => publicError(error).status >= 500);
}

/** Whether some error says something about the moment or the credentials, and not about the operation. */
export function isRetriable(outcome: SingleResult): boolean {
  return errorsOf(outcome).some((error) => publicError(error).retriable);
}

export type CostCeilings = Pick<Config['operationLimits'], 'maxDepth' | 'maxComplexity'>;

/** What the `extensions` of a response contain, as far as the request asked for it. */
export interface ResponseExtras {
  readonly cost?: OperationCost | undefined;
  readonly limits: CostCeilings;
  /** The id from which events bring what the response does not show, if the request asked for it. */
  readonly eventId?: string | undefined;
  /** The deprecated elements that the operation uses (contract section 7). */
  readonly deprecations?: readonly DeprecatedElement[] | undefined;
}

/** All extras but the cost. */
const extensionEntries = ({ eventId, deprecations }: ResponseExtras): object => ({
  ...(eventId === undefined ? {} : { eventId }),
  ...(deprecations === undefined ? {} : { deprecations }),
});

function extensionsWith(
  extensions: ExecutionResult['extensions'],
  extras: ResponseExtras,
): ExecutionResult['extensions'] {
  const { cost, limits, eventId, deprecations } = extras;
  const known =
    eventId === undefined && deprecations === undefined
      ? extensions
      : { ...extensions, ...extensionEntries(extras) };
  if (cost === undefined) return known;
  const { complexity, depth } = cost;
  const { maxComplexity: maximumComplexity, maxDepth: maximumDepth } = limits;
  return { ...known, cost: { complexity, depth, maximumComplexity, maximumDepth } };
}

/** A response in JSON with more extensions. */
export function textWith(json: string, added: object): string {
  // Most responses have no extensions, nor errors, which have extensions. Quotes in strings are escaped.
  if (!json.includes('"extensions":'))
    return `${json.slice(0, json.lastIndexOf('}'))},"extensions":${JSON.stringify(added)}}`;
  const { extensions, ...rest }: { readonly extensions?: object } = JSON.parse(json);
  return JSON.stringify({ ...rest, extensions: { ...extensions, ...added } });
}

/** The response as JSON: errors first, as the GraphQL specification suggests (section 7.1). */
export function serializeResponse(outcome: SingleResult, extras: ResponseExtras): string {
  if (outcome.kind === 'rendered') {
    const requested = extras.eventId !== undefined || extras.deprecations !== undefined;
    return requested ? textWith(outcome.body, extensionEntries(extras)) : outcome.body;
  }
  if (outcome.kind === 'rejected')
    return JSON.stringify({ errors: outcome.errors, extensions: extensionsWith(undefined, extras) });
  const { errors, data, extensions } = outcome.result;
  return JSON.stringify({ errors, data, extensions: extensionsWith(extensions, extras) });
}

/** Errors of the document and its variables. No other moment and no other credentials change the response. */
const OF_DOCUMENT: ReadonlySet<ErrorCode> = new Set([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'BAD_USER_INPUT',
  'DEPTH_LIMIT',
  'COMPLEXITY_LIMIT',
]);
/** Apollo Server has status 200 for these, and Apollo's client for iOS reads the errors of no other status. */
const OF_PERSISTED_QUERY: ReadonlySet<ErrorCode> = new Set([
  'PERSISTED_QUERY_NOT_FOUND',
  'PERSISTED_QUERY_NOT_SUPPORTED',
]);

/** The HTTP status of an outcome (contract sections 3 and 4, GraphQL over HTTP section 6.4). */
export function statusOf(outcome: SingleResult, mediaType: MediaType): number {
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
  // A `data` entry, even null, means that execution began.
  if (outcome.kind === 'executed') return 200;
  if (OF_PERSISTED_QUERY.has(first.code)) return 200;
  // EventSource shows only what comes with status 200 (decisions/0049-errors-in-event-streams.md).
  if (mediaType === 'text/event-stream' && errors.every(({ code }) => OF_DOCUMENT.has(code))) return 200;
  if (first.negotiable || first.status === 200) return mediaType === 'application/json' ? 200 : 400;
  return first.status;
}
