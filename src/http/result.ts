import type { ExecutionResult } from 'graphql';
import { answerTooLarge } from '../graphql/errors.ts';
import { publicError } from '../graphql/mask-error.ts';
import type { MediaType } from './accept.ts';
import { jsonSize } from './json-size.ts';
import type { RequestState } from './request-state.ts';

/**
 * Where a result keeps its settled response. A WeakMap would hold each body, as old things do what is new, until a
 * collection of the whole heap.
 */
const SETTLED = Symbol('settled response');

interface Settled extends ExecutionResult {
  readonly [SETTLED]?: FixedResponse;
}

export interface CostCeilings {
  readonly maxComplexity: number;
  readonly maxDepth: number;
}

/** The result with what the operation costs, where the client asked for it (contract section 5). */
export function withCost(
  result: ExecutionResult,
  { cost }: RequestState,
  { maxComplexity, maxDepth }: CostCeilings,
): ExecutionResult {
  if (cost === undefined || SETTLED in result) return result;
  const { complexity, depth } = cost;
  const figures = { complexity, depth, maximumComplexity: maxComplexity, maximumDepth: maxDepth };
  return { ...result, extensions: { ...result.extensions, cost: figures } };
}

/** A response whose status and body were settled once, and are sent as they are however often. */
export interface FixedResponse {
  readonly status: number;
  readonly body: string;
}

/** The result as a response that is settled. */
export function fixedResult(result: ExecutionResult, response: FixedResponse): ExecutionResult {
  return { ...result, [SETTLED]: response } as Settled;
}

/** The bytes of a text in UTF-8, or as long as it surely fits, how long it is. Throws COMPLEXITY_LIMIT past `maximum`. */
export function checkedLength(text: string, maximum: number): number {
  // A unit of UTF-16 has three bytes at most.
  const bytes = text.length <= maximum / 3 ? text.length : Buffer.byteLength(text);
  if (bytes > maximum) throw answerTooLarge(bytes, maximum);
  return bytes;
}

/** About how large the body of the result is. Throws COMPLEXITY_LIMIT where that is past `maximum`. */
export function checkedSize(result: ExecutionResult, maximum: number): number {
  const { [SETTLED]: settled } = result as Settled;
  if (settled !== undefined) return checkedLength(settled.body, maximum);
  const { errors, data, extensions } = result;
  const bytes = jsonSize({ errors, data, extensions }, maximum);
  if (bytes > maximum) throw answerTooLarge(bytes, maximum);
  return bytes;
}

/** The HTTP status of an executed or refused operation (contract sections 3 and 4, GraphQL over HTTP section 6.4). */
export function statusOf(result: ExecutionResult, mediaType: MediaType): number {
  const { [SETTLED]: settled } = result as Settled;
  if (settled !== undefined) return settled.status;
  const errors = (result.errors ?? []).map(publicError);
  const [first] = errors;
  if (first === undefined) return 200;
  const worst = errors.find(({ status }) => status >= 500);
  if (worst !== undefined) return worst.status;
  if (result.data == null) {
    if (errors.every(({ code }) => code === 'FORBIDDEN')) return 403;
    if (errors.every(({ code }) => code === 'UNAUTHENTICATED')) return 401;
  }
  // A `data` entry, even a null one, says that execution began.
  if (result.data !== undefined) return 200;
  if (first.negotiable || first.status === 200) return mediaType === 'application/json' ? 200 : 400;
  return first.status;
}

/** The response as JSON: errors first, as the GraphQL specification suggests (section 7.1). */
export function stringifyResult(result: ExecutionResult): string {
  const { [SETTLED]: settled } = result as Settled;
  if (settled !== undefined) return settled.body;
  const { errors, data, extensions } = result;
  return JSON.stringify({ errors, data, extensions });
}
