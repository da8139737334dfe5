import type { Executed } from '../model/execution.ts';
import type { State } from '../model/state.ts';

/** Who asks: each has other rights, and none but `nobody` and `stranger` is without an account. */
export const CALLERS = [
  'reader',
  'member',
  'other-member',
  'admin',
  'read-only-key',
  'write-only-key',
  'session',
  'full-session',
  'nobody',
  'stranger',
] as const;

export type CallerName = (typeof CALLERS)[number];

/** One operation, as a client would send it. */
export interface Case {
  readonly document: string;
  /** As JSON has them; undefined where the request has none. */
  readonly variables: Readonly<Record<string, unknown>> | undefined;
  readonly operationName: string | undefined;
  readonly caller: CallerName;
}

/** What stands in an expected response for a string, or null, that only the service can know, such as an id that it has just made. */
export const MADE = Symbol('made by the service');

/** The status for `Accept: application/graphql-response+json`, and for `application/json`. */
export interface Statuses {
  readonly response: number;
  readonly json: number;
}

/** What must come where the operation is executed: with 403 exactly where `data` is null and each error told is FORBIDDEN, else with 200. */
export type ExpectedResponse = Pick<Executed, 'data' | 'errors'>;

/** A rejection before execution: no `data`, and one or more errors, all with this code. */
export interface ExpectedRejection {
  readonly code: string;
  readonly status: Statuses;
  /** The arguments of which each error must name one; undefined where they need not. */
  readonly oneOf?: readonly string[];
}

/**
 * What the contract says must come back for a case: the response, or one of the rejections. Where the contract says exactly
 * one thing, one of the two is empty. A subscription that may open has neither: over an event stream it opens, and
 * elsewhere it is BAD_REQUEST with 406, which also may come instead of a rejection.
 */
export interface Verdict {
  readonly response: ExpectedResponse | undefined;
  readonly rejections: readonly ExpectedRejection[];
  /** What the operation costs; undefined where it is not valid, or only introspects. */
  readonly cost: { readonly complexity: number; readonly depth: number } | undefined;
  /** Undefined where the document does not say which operation is meant. */
  readonly kind: 'query' | 'mutation' | 'subscription' | undefined;
  /** Whether a subscription may open, and whether it then hears of a post that `other-member` makes. */
  readonly opens?: boolean;
  readonly hears?: boolean;
  /** Whether its caller lacks what a field of a mutation needs: with an Idempotency-Key it is rejected before it begins. */
  readonly lacks?: boolean;
  /** What a mutation leaves behind where it is executed. */
  readonly leaves?: State;
}
