import { expect } from 'vitest';
import type { Answer } from './graphql.ts';

export interface Rejection {
  readonly code: string;
  readonly status?: number;
  readonly argument?: string;
  readonly message?: RegExp;
}

/** Expects exactly one error, as contract section 4 has it. */
export function expectRejected(answer: Answer, { code, status = 200, argument, message }: Rejection): void {
  const { errors = [] } = answer;
  expect(errors.map(({ extensions }) => extensions.code)).toEqual([code]);
  expect(answer.status).toBe(status);
  if (argument !== undefined) expect(errors[0]?.extensions.argument).toBe(argument);
  if (message !== undefined) expect(errors[0]?.message).toMatch(message);
}

/** Expects BAD_USER_INPUT that names the argument. */
export function expectBadInput(answer: Answer, argument: string, message = new RegExp(argument)): void {
  expectRejected(answer, { code: 'BAD_USER_INPUT', argument, message });
}

/** Expects FORBIDDEN with nothing else in the answer, which is status 403 (contract section 3). */
export function expectForbidden(answer: Answer): void {
  expectRejected(answer, { code: 'FORBIDDEN', status: 403 });
  expect(answer.data ?? null).toBeNull();
}

/** Expects an answer without errors, and returns its data. */
export function dataOf(answer: Answer): Answer['data'] {
  expect(answer.errors).toBeUndefined();
  expect(answer.status).toBe(200);
  return answer.data;
}
