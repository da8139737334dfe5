/** Who asks: each has other rights, and none but `nobody` and `stranger` is without an account. */
export const CALLERS = [
  'reader',
  'member',
  'other-member',
  'admin',
  'read-only-key',
  'write-only-key',
  'session',
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

/** What an error must say: its code, and where execution came to it, its path. */
export interface ExpectedError {
  readonly code: string;
  readonly path: readonly (string | number)[] | undefined;
}

/** What stands in an expected answer for what only the service can know: an id or an instant that it has just made. */
export const MADE = Symbol('made by the service');

/** What the contract says must come back for a case. */
export interface Verdict {
  /** Undefined where the answer has no `data` entry. Members are in the order in which they must come. */
  readonly data: unknown;
  /** In any order. Where one of several may come first and end the rest, each alternative stands in `oneOf`. */
  readonly errors: readonly ExpectedError[];
  /** Where the request is refused before it is executed, any one of these codes is right. */
  readonly oneOf: readonly string[] | undefined;
  /** The status for `application/graphql-response+json`, and for `application/json`. */
  readonly status: { readonly response: number; readonly json: number };
  /** What the operation costs; undefined where it is not validated so far. */
  readonly cost: { readonly complexity: number; readonly depth: number } | undefined;
  readonly kind: 'query' | 'mutation' | 'subscription' | undefined;
}
