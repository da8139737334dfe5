import { responseTooLarge } from '../../platform/errors.ts';
import type { PendingResponses, Reservation } from '../../platform/fairness/response-memory.ts';
import { publicError } from '../core/mask-error.ts';
import { introspectionSize } from '../documents/introspection.ts';
import type { OperationArgs, OperationContext } from './operation-context.ts';
import {
  type CostCeilings,
  errorsOf,
  type ResponseExtras,
  type SingleResult,
  serializeResponse,
} from './outcome.ts';

/** The limit is three times the size that tools request. graphql-js takes about 1 ms for 5 KiB. */
const MAX_INTROSPECTION_BYTES = 131_072;

export interface ResponseBoundsOptions {
  readonly pending: PendingResponses;
  readonly maxResponseBytes: number;
  readonly limits: CostCeilings;
}

/**
 * Returns the size in UTF-8 bytes, or the length if the string certainly fits.
 * @throws {ApiError} COMPLEXITY_LIMIT above `maximum`
 */
export function checkedLength(text: string, maximum: number): number {
  // A UTF-16 code unit takes at most three bytes.
  const bytes = text.length <= maximum / 3 ? text.length : Buffer.byteLength(text);
  if (bytes > maximum) throw responseTooLarge(bytes, maximum);
  return bytes;
}

/** JSON writes a UTF-16 code unit as at most six bytes, `\u0000`. */
const MAX_BYTES_A_UNIT = 6;

/**
 * Computes a lower bound of the characters in JSON, and stops above `maximum`. Aliases repeat one string many times.
 * The JSON of a small result can exceed the longest string of JavaScript and block the event loop for seconds.
 */
export function leastLength(value: unknown, maximum: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return String(value).length;
  const names = Array.isArray(value) ? [] : Object.keys(value);
  let length = names.reduce((sum, name) => sum + name.length + 3, 2);
  for (const member of Object.values(value)) {
    if (length > maximum) break;
    length += leastLength(member, maximum - length);
  }
  return length;
}

/**
 * Returns the size in bytes, or a lower bound if the response certainly fits.
 * @throws {ApiError} COMPLEXITY_LIMIT above `maximum`
 */
export function checkedSize(outcome: SingleResult, extras: ResponseExtras, maximum: number): number {
  if (outcome.kind !== 'executed') return checkedLength(serializeResponse(outcome, extras), maximum);
  const { data, errors } = outcome.result;
  const least = leastLength(data, maximum);
  if (least > maximum) throw responseTooLarge(least, maximum);
  const isOnlyData = errors === undefined && extras.cost === undefined;
  if (isOnlyData && MAX_BYTES_A_UNIT * least <= maximum) return least;
  const bytes = Buffer.byteLength(serializeResponse(outcome, extras));
  if (bytes > maximum) throw responseTooLarge(bytes, maximum);
  return bytes;
}

export function createResponseBounds({ pending, maxResponseBytes, limits }: ResponseBoundsOptions) {
  return {
    reservation: () => pending.reservation(),
    /**
     * graphql-js builds the response in one uninterruptible run, so the size is checked first.
     * @throws {ApiError} COMPLEXITY_LIMIT
     */
    checkIntrospection(args: OperationArgs): void {
      const { operation } = args.contextValue;
      if (!operation.mayIntrospect) return;
      const bytes = introspectionSize(args, operation.node, operation.plans.fragments);
      const mostBytes = Math.min(maxResponseBytes, MAX_INTROSPECTION_BYTES);
      if (bytes > mostBytes) throw responseTooLarge(bytes, mostBytes);
    },
    /**
     * Reserves memory for the response.
     * @throws {ApiError} COMPLEXITY_LIMIT if the response or its data is too large; RATE_LIMITED or SERVICE_UNAVAILABLE
     * if other responses hold too much memory
     */
    checked<O extends SingleResult>(
      outcome: O,
      { shownCost: cost }: Pick<OperationContext, 'shownCost'>,
      reservation: Reservation,
    ): O {
      if (reservation.rejection !== undefined) throw reservation.rejection;
      // A field that is too large fails the whole response, not only the field.
      const rejected = errorsOf(outcome).find((error) => publicError(error).code === 'COMPLEXITY_LIMIT');
      if (rejected !== undefined) throw rejected;
      reservation.reserve(checkedSize(outcome, { cost, limits }, maxResponseBytes));
      return outcome;
    },
  };
}
