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

/** Errors belong to fields, and are masked as in all outcomes. */
export interface Executed {
  readonly kind: 'executed';
  readonly result: ExecutionResult;
}

/** A response that is already a string, written by the database or stored and replayed. */
export interface RenderedResult {
  readonly kind: 'rendered';
  readonly status: number;
  readonly body: string;
  /** The errors in the response, as far as known. */
  readonly errors: readonly GraphQLError[];
}

export interface Rejected {
  readonly kind: 'rejected';
  readonly errors: readonly GraphQLError[];
}

interface Streamed {
  readonly kind: 'stream';
  readonly stream: EventStream;
}

/**
 * A subscription that cannot continue where the client left off. The client gets the error and the current position.
 */
interface Unresumable {
  readonly kind: 'unresumable';
  readonly startId: string;
  readonly outcome: Rejected;
}

export type SingleResult = Executed | RenderedResult | Rejected;

export type Outcome = SingleResult | Streamed | Unresumable;

export function rejected(error: unknown, options: MaskOptions): Rejected {
  return { kind: 'rejected', errors: [maskError(error, options)] };
}

/** Without a `data` entry nothing was executed. */
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

export function rendered(body: string): RenderedResult {
  return { kind: 'rendered', status: 200, body, errors: [] };
}

export function errorsOf(outcome: SingleResult): readonly GraphQLError[] {
  return outcome.kind === 'executed' ? (outcome.result.errors ?? []) : outcome.errors;
}

/** True if nothing may have been changed, because the outcome has no data. */
export function hasNoData(outcome: SingleResult): boolean {
  return outcome.kind === 'rejected' || (outcome.kind === 'executed' && outcome.result.data == null);
}

export function failuresOf(outcome: SingleResult): readonly GraphQLError[] {
  return errorsOf(outcome).filter((error) => publicError(error).status >= 500);
}

/** True if an error depends on the time or the credentials instead of the operation. */
export function isRetriable(outcome: SingleResult): boolean {
  return errorsOf(outcome).some((error) => publicError(error).retriable);
}

export type CostCeilings = Pick<Config['operationLimits'], 'maxDepth' | 'maxComplexity'>;

export interface ResponseExtras {
  readonly cost?: OperationCost | undefined;
  readonly limits: CostCeilings;
  /** The position from which events report changes that the response does not show. */
  readonly eventId?: string | undefined;
  readonly deprecations?: readonly DeprecatedElement[] | undefined;
}

/** JSON leaves out members that are undefined. */
function extensionsWith(
  extensions: ExecutionResult['extensions'],
  { cost, limits, eventId, deprecations }: ResponseExtras,
): object | undefined {
  if (cost === undefined && eventId === undefined && deprecations === undefined) return extensions;
  const { maxComplexity: maximumComplexity, maxDepth: maximumDepth } = limits;
  return { ...extensions, eventId, deprecations, cost: cost && { ...cost, maximumComplexity, maximumDepth } };
}

export function textWith(json: string, added: object): string {
  // Most responses have neither extensions nor errors. Quotes in strings are escaped, so the search finds no string
  // value.
  if (!json.includes('"extensions":'))
    return `${json.slice(0, json.lastIndexOf('}'))},"extensions":${JSON.stringify(added)}}`;
  const { extensions, ...rest }: { readonly extensions?: object } = JSON.parse(json);
  return JSON.stringify({ ...rest, extensions: { ...extensions, ...added } });
}

/** Errors are first, as the GraphQL specification suggests. */
export function serializeResponse(outcome: SingleResult, extras: ResponseExtras): string {
  if (outcome.kind === 'rendered') {
    const { eventId, deprecations } = extras;
    const isComplete = eventId === undefined && deprecations === undefined;
    return isComplete ? outcome.body : textWith(outcome.body, { eventId, deprecations });
  }
  if (outcome.kind === 'rejected')
    return JSON.stringify({ errors: outcome.errors, extensions: extensionsWith(undefined, extras) });
  const { errors, data, extensions } = outcome.result;
  return JSON.stringify({ errors, data, extensions: extensionsWith(extensions, extras) });
}

/** Errors of the document and its variables, which do not depend on the time or the credentials. */
const OF_DOCUMENT: ReadonlySet<ErrorCode> = new Set([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'BAD_USER_INPUT',
  'DEPTH_LIMIT',
  'COMPLEXITY_LIMIT',
]);
/** Apollo Server responds to these with status 200, and Apollo's iOS client reads the errors of no other status. */
const OF_PERSISTED_QUERY: ReadonlySet<ErrorCode> = new Set([
  'PERSISTED_QUERY_NOT_FOUND',
  'PERSISTED_QUERY_NOT_SUPPORTED',
]);

/** Follows GraphQL over HTTP, Status Codes (contract: errors). */
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
  // EventSource shows only responses with status 200 (decisions/0049-errors-in-event-streams.md).
  if (mediaType === 'text/event-stream' && errors.every(({ code }) => OF_DOCUMENT.has(code))) return 200;
  if (first.negotiable || first.status === 200) return mediaType === 'application/json' ? 200 : 400;
  return first.status;
}
