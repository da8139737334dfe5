import { expect } from 'vitest';
import type { GraphQLResponse } from './graphql.ts';

export interface Rejection {
  readonly code: string;
  readonly status?: number;
  readonly argument?: string;
  readonly message?: RegExp;
}

/** Expects exactly one error (contract: errors). */
export function expectRejected(
  response: GraphQLResponse,
  { code, status = 200, argument, message }: Rejection,
): void {
  const { errors = [] } = response;
  expect(errors.map(({ extensions }) => extensions.code)).toEqual([code]);
  expect(response.status).toBe(status);
  if (argument !== undefined) expect(errors[0]?.extensions.argument).toBe(argument);
  if (message !== undefined) expect(errors[0]?.message).toMatch(message);
}

/** Expects BAD_USER_INPUT that names the argument. */
export function expectBadInput(
  response: GraphQLResponse,
  argument: string,
  message = new RegExp(argument),
): void {
  expectRejected(response, { code: 'BAD_USER_INPUT', argument, message });
}

/** Expects FORBIDDEN with nothing else in the response, which is status 403 (contract: permissions). */
export function expectForbidden(response: GraphQLResponse): void {
  expectRejected(response, { code: 'FORBIDDEN', status: 403 });
  expect(response.data ?? null).toBeNull();
}

/** Expects a response without errors, and returns its data. */
export function dataOf(response: GraphQLResponse): GraphQLResponse['data'] {
  expect(response.errors).toBeUndefined();
  expect(response.status).toBe(200);
  return response.data;
}
